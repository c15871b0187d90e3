import { readFileSync } from 'node:fs';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';

export type DocumentName = 'openapi.account' | 'openapi.event-catcher';

/** Serves a generated document: at `/docs` as a page, at `/docs-json` as JSON. */
export const serveDocument =
  (name: DocumentName) =>
  (app: NestFastifyApplication): void => {
    const file = new URL(`../../schemas/generated/${name}.json`, import.meta.url);
    const document = JSON.parse(readFileSync(file, 'utf8')) as OpenAPIObject;
    SwaggerModule.setup('docs', app, document, { jsonDocumentUrl: 'docs-json' });
  };
