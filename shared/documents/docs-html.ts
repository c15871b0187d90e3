import { htmlOf } from '../primitives/text/html-text.ts';

interface Schema {
  [keyword: string]: unknown;
}
interface Reference {
  $ref?: string;
}
interface Content {
  content?: Record<string, { schema?: Schema }>;
}
interface Parameter extends Reference {
  name?: string;
  in?: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
}
interface Answer extends Reference, Content {
  description?: string;
  headers?: Record<string, unknown>;
}
interface Operation {
  summary?: string;
  description?: string;
  security?: readonly object[];
  parameters?: readonly Parameter[];
  requestBody?: Reference & Content;
  responses?: Record<string, Answer>;
}

/** The part of an OpenAPI document that the page shows. */
export interface OpenApi {
  info: { title: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema>; parameters?: Record<string, Parameter> };
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code,pre{font:14px/1.4 ui-monospace,monospace}pre{background:#8882;padding:1rem;overflow:auto}
section{border-top:1px solid #8888;margin-top:2rem}td{padding:0 1rem .3rem 0;vertical-align:top}
:root{color-scheme:light dark}`;

/** Returns an OpenAPI document as a page for people to read. It has no scripts. */
export const docsHtml = (document: OpenApi): string => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );
  const schemas = Object.entries(document.components?.schemas ?? {});
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${htmlOf(document.info.title)}</title>
<style>${STYLE}</style>
<h1>${htmlOf(document.info.title)}</h1>
<p>${htmlOf(document.info.description ?? '')} The same for programs: <a href="docs-json">OpenAPI</a>.</p>
<ul>${operations.map(({ name, operation }) => `<li><a href="#${idOf(name)}"><code>${htmlOf(name)}</code></a> ${htmlOf(operation.summary ?? '')}`).join('\n')}</ul>
${operations.map(({ name, operation }) => operationHtml(document, name, operation)).join('\n')}
<section><h2>Schemas</h2>${schemas.map(([name, schema]) => `<div id="${idOf(`#/components/schemas/${name}`)}">${schemaHtml(name, schema)}</div>`).join('\n')}</section>
</html>
`;
};

const operationHtml = (document: OpenApi, name: string, operation: Operation): string => {
  const { summary = '', description = '', security = [], parameters = [], requestBody, responses = {} } = operation;
  const needsToken = security.length > 0 && security.every((scheme) => Object.keys(scheme).length > 0);
  return `<section id="${idOf(name)}"><h2><code>${htmlOf(name)}</code></h2>
<p>${htmlOf([summary, description].filter((text) => text !== '').join('. '))}${needsToken ? ' Needs a bearer token.' : ''}</p>
<table>${parameters.map((parameter) => parameterHtml(resolved(document, parameter))).join('\n')}</table>
${requestBody ? contentHtml('Body', resolved(document, requestBody)) : ''}
${Object.entries(responses)
  .map(([status, answer]) => answerHtml(status, resolved(document, answer)))
  .join('\n')}</section>`;
};

const parameterHtml = ({
  name = '',
  in: place = '',
  required = false,
  description,
  schema = {},
}: Parameter): string => {
  const said = description ?? schema['description'];
  const { description: _, ...rest } = schema;
  return `<tr><td><code>${htmlOf(name)}</code><td>${htmlOf(place)}${required ? ', required' : ''}<td>${
    typeof said === 'string' ? `${htmlOf(said)} ` : ''
  }<code>${htmlOf(JSON.stringify(rest))}</code>`;
};

const answerHtml = (status: string, { description = '', headers = {}, content = {} }: Answer): string => {
  const names = Object.keys(headers).join(', ');
  return `<p><b>${htmlOf(status)}</b> ${htmlOf(description)}${names === '' ? '' : ` <code>${htmlOf(names)}</code>`}</p>
${contentHtml('', { content })}`;
};

const contentHtml = (title: string, { content = {} }: Content): string =>
  Object.entries(content)
    .map(([type, { schema = {} }]) => schemaHtml(`${title} ${type}`.trim(), schema))
    .join('\n');

const schemaHtml = (title: string, schema: Schema): string => {
  const { $ref } = schema;
  if (typeof $ref === 'string') return `<p>${htmlOf(title)}: <a href="#${idOf($ref)}">${htmlOf($ref)}</a></p>`;
  return `<details><summary>${htmlOf(title)}</summary><pre>${htmlOf(JSON.stringify(schema, null, 2))}</pre></details>`;
};

/** Resolves a reference within the document: a JSON pointer from its root. */
const resolved = <Part extends Reference>(document: OpenApi, part: Part): Part => {
  if (part.$ref === undefined) return part;
  const names = part.$ref.slice('#/'.length).split('/');
  return names.reduce<unknown>((node, name) => (node as Record<string, unknown> | undefined)?.[name], document) as Part;
};

const idOf = (name: string): string => encodeURIComponent(name).replaceAll('%', '-');
