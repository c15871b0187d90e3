import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';

/** Serves a document at `/docs` for people and at `/docs-json` for machines. */
export const serveDocument = (app: NestFastifyApplication, document: object): void => {
  SwaggerModule.setup('docs', app, document as OpenAPIObject, { jsonDocumentUrl: 'docs-json' });
};
