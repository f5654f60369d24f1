mod markdown;
