import { readFileSync } from 'node:fs';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Settings } from '../config/settings.ts';
import { docsHtml, type OpenApi } from './docs-html.ts';

export type DocumentName = 'openapi.account' | 'openapi.event-catcher' | 'openapi.stream';

export const servesDocs = ({ DOCS, NODE_ENV }: Pick<Settings, 'DOCS' | 'NODE_ENV'>): boolean =>
  (DOCS ?? (NODE_ENV === 'production' ? 'off' : 'on')) === 'on';

/** Serves a generated document, unless `DOCS` is off: at `/docs` as a page, at `/docs-json` as JSON. */
export const serveDocument =
  (name: DocumentName, settings: Parameters<typeof servesDocs>[0]) =>
  (app: NestFastifyApplication): void => {
    if (!servesDocs(settings)) return;
    const server = app.getHttpAdapter().getInstance();
    const json = readFileSync(new URL(`../../schemas/generated/${name}.json`, import.meta.url));
    const page = Buffer.from(docsHtml(JSON.parse(json.toString()) as OpenApi));
    // Buffers, because all answers share them: Node would copy a string for each answer that is not read yet.
    server.get('/docs', (_request, reply) => reply.type('text/html; charset=utf-8').send(page));
    server.get('/docs-json', (_request, reply) => reply.type('application/json').send(json));
  };
