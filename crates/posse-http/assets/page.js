// The reference page: the OpenAPI document as a list of routes. Text nodes only; nothing of the document becomes HTML.

const state = document.getElementById("state");
const routes = document.getElementById("routes");

/** Creates an element with children, which are elements or text. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Writes a schema as an example of its shape. */
function shape(schema, schemas, depth = 0) {
  if (!schema || depth > 6) return "…";
  if (schema.$ref) return shape(schemas[schema.$ref.split("/").pop()], schemas, depth);
  const choice = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  if (choice) return choice.map((one) => shape(one, schemas, depth)).join(" | ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  const type = [schema.type].flat().join(" | ");
  const indent = "  ".repeat(depth + 1);
  if (schema.properties) {
    const required = new Set(schema.required ?? []);
    const lines = Object.entries(schema.properties).map(([name, field]) => {
      const about = field.description ? `  // ${field.description.replaceAll("\n", " ")}` : "";
      return `${indent}${name}${required.has(name) ? "" : "?"}: ${shape(field, schemas, depth + 1)}${about}`;
    });
    return `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}`;
  }
  if (schema.items) return `[${shape(schema.items, schemas, depth)}]`;
  return type || "any";
}

function content(body, schemas) {
  const [kind, media] = Object.entries(body?.content ?? {})[0] ?? [];
  return media ? [kind, shape(media.schema, schemas)] : null;
}

function operation(path, method, about, schemas) {
  const parts = [];
  if (about.parameters?.length) {
    const rows = about.parameters.map((one) =>
      element("tr", {}, element("td", {}, element("code", {}, one.name)), element("td", {}, one.in),
        element("td", {}, shape(one.schema, schemas)), element("td", {}, one.description ?? "")));
    parts.push(element("table", {}, ...rows));
  }
  const request = content(about.requestBody, schemas);
  if (request) parts.push(element("p", {}, `Request: ${request[0]}`), element("pre", {}, request[1]));
  for (const [status, response] of Object.entries(about.responses)) {
    const body = content(response, schemas);
    if (status === "4XX" || status === "503" || status === "304") continue;
    parts.push(element("p", {}, `Response ${status}${body ? `: ${body[0]}` : ""}`));
    if (body) parts.push(element("pre", {}, body[1]));
  }
  const head = element("summary", {}, element("span", { class: "method" }, method.toUpperCase()),
    element("span", { class: "path" }, path), element("span", { class: "about" }, about.summary ?? ""));
  return element("details", {}, head, element("div", {}, ...parts));
}

async function show() {
  const answer = await fetch("/v1/openapi.json");
  if (!answer.ok) {
    state.textContent = "Log in first: run `posse tokens login` and open the link that it prints.";
    return;
  }
  const document = await answer.json();
  const groups = new Map();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, about] of Object.entries(methods)) {
      const tag = about.tags?.[0] ?? "other";
      groups.set(tag, [...(groups.get(tag) ?? []), operation(path, method, about, document.components.schemas)]);
    }
  }
  for (const [tag, operations] of groups) routes.append(element("h2", {}, tag), ...operations);
  state.textContent = "Every error is a problem (application/problem+json) with a stable code.";
}

show().catch(() => {
  state.textContent = "The server does not answer.";
});
