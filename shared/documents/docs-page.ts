import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Settings } from '../config/settings.ts';

export type DocumentName = 'openapi.account' | 'openapi.event-catcher';

interface Page {
  type: string;
  /** Bytes that all answers share: of a text Node makes a copy for each answer that is not read yet. */
  bytes: Buffer;
}

const HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Annals</title>
    <link rel="stylesheet" href="docs/swagger-ui.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/swagger-ui-init.js"></script>
  </body>
</html>
`;
const INIT = `window.ui = SwaggerUIBundle({ url: 'docs-json', dom_id: '#swagger-ui', deepLinking: true });
`;

export const servesDocs = ({ DOCS, NODE_ENV }: Pick<Settings, 'DOCS' | 'NODE_ENV'>): boolean =>
  (DOCS ?? (NODE_ENV === 'production' ? 'off' : 'on')) === 'on';

/** Serves a generated document, unless `DOCS` is off: at `/docs` as a page, at `/docs-json` as JSON. */
export const serveDocument =
  (name: DocumentName, settings: Parameters<typeof servesDocs>[0]) =>
  (app: NestFastifyApplication): void => {
    if (!servesDocs(settings)) return;
    const server = app.getHttpAdapter().getInstance();
    const document = readFileSync(new URL(`../../schemas/generated/${name}.json`, import.meta.url));
    const pages = { ...userInterface(), '/docs-json': { type: 'application/json', bytes: document } };
    for (const [path, { type, bytes }] of Object.entries(pages)) {
      server.get(path, (_request, reply) => reply.type(type).send(bytes));
    }
  };

let pages: Record<string, Page> | undefined;

/** Reads the page and what it needs once, for every service of this process. */
const userInterface = (): Record<string, Page> => {
  const require = createRequire(import.meta.resolve('@nestjs/swagger'));
  const folder = dirname(require.resolve('swagger-ui-dist/package.json'));
  const asset = (name: string, type: string): Page => ({ type, bytes: readFileSync(join(folder, name)) });
  const javascript = 'text/javascript; charset=utf-8';
  return (pages ??= {
    '/docs': { type: 'text/html; charset=utf-8', bytes: Buffer.from(HTML) },
    '/docs/swagger-ui-init.js': { type: javascript, bytes: Buffer.from(INIT) },
    '/docs/swagger-ui-bundle.js': asset('swagger-ui-bundle.js', javascript),
    '/docs/swagger-ui.css': asset('swagger-ui.css', 'text/css; charset=utf-8'),
  });
};
