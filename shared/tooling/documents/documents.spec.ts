import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { eventCatalogue, type EventType } from '../../../schemas/events/catalogue.ts';
import { dataSchemaUrl, publishedData } from '../../../schemas/events/event.ts';
import { topics } from '../../../schemas/topics.ts';
import { accountRoutes } from '../../../schemas/http/account/account-routes.ts';
import { eventCatcherRoutes } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { RouteContract } from '../../../schemas/http/route.ts';
import { publishedExample } from '../../../schemas/examples/published-examples.ts';
import { generatedDocuments } from './generated-documents.ts';

const documents = generatedDocuments();
const folder = join(import.meta.dirname, '../../../schemas/generated');

/** Events of an earlier version stay stored, and their messages name the schema file, so it must stay unchanged. */
const isEarlierVersion = (name: string): boolean => {
  const [, type = '', version] = /^events\/(\w+)\.v(\d+)\.json$/.exec(name) ?? [];
  return type in eventCatalogue && Number(version) < eventCatalogue[type as EventType].version;
};

/** Returns every `$ref` of a document. */
const referencesIn = (node: unknown): string[] =>
  typeof node !== 'object' || node === null
    ? []
    : Object.entries(node).flatMap(([name, value]) =>
        name === '$ref' ? [String(value)] : referencesIn(value as unknown),
      );

/** Resolves a reference within a document: a JSON pointer from its root. */
const at = (document: unknown, reference: string): unknown =>
  reference
    .slice('#/'.length)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((node, part) => (node as Record<string, unknown> | undefined)?.[part], document);

describe('generated documents', () => {
  it.each([...documents])('the committed %s is what npm run generate writes', (name, text) => {
    expect(JSON.parse(readFileSync(join(folder, name), 'utf8'))).toEqual(JSON.parse(text));
  });

  it('every committed file is generated, except for earlier versions of events', () => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const names = files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
    expect(names.filter((name) => !isEarlierVersion(name)).sort()).toEqual([...documents.keys()].sort());
  });

  it.each([...documents])('every reference in %s resolves', (_, text) => {
    const document: unknown = JSON.parse(text);
    for (const reference of referencesIn(document)) {
      expect(reference).toMatch(/^#\//);
      expect([reference, at(document, reference)]).toEqual([reference, expect.any(Object)]);
    }
  });
});

/** The formats of JSON Schema, and OpenAPI's format for integers of 64 bits. */
const FORMATS = ['date-time', 'uuid', 'uri', 'int64'];

const formatsIn = (node: unknown): string[] =>
  typeof node !== 'object' || node === null
    ? []
    : Object.entries(node).flatMap(([name, value]) =>
        name === 'format' && typeof value === 'string' ? [value] : formatsIn(value as unknown),
      );

describe('the formats of generated documents', () => {
  it.each([...documents])('are in %s those that readers of schemas know', (_, text) => {
    expect(formatsIn(JSON.parse(text)).filter((format) => !FORMATS.includes(format))).toEqual([]);
  });
});

describe('the JSON Schema of an event', () => {
  it.each(Object.values(topics).flatMap(({ events }) => [...events]))(
    'is kept for every version of a published event: %s',
    (type) => {
      const first = type === 'MessengerUpdated' ? 2 : 1;
      const versions = [1, 2, 3].slice(first - 1, eventCatalogue[type].version);
      const missing = versions.filter(
        (version) => !existsSync(join(folder, 'events', basename(dataSchemaUrl(type, version)))),
      );
      expect(missing).toEqual([]);
    },
  );

  it.each(Object.entries(eventCatalogue))('of type %s has the name that its header gives', (type, definition) => {
    const url = dataSchemaUrl(type, definition.version);
    const text = documents.get(`events/${basename(url)}`) ?? '';
    expect(JSON.parse(text)).toMatchObject({ $id: url, $schema: 'https://json-schema.org/draft/2020-12/schema' });
    const example = publishedExample(type as EventType);
    const data = publishedData(definition);
    const generated = z.fromJSONSchema(JSON.parse(text) as z.core.JSONSchema.JSONSchema);
    for (const value of [example, { ...example, more: 1 }, {}, null]) {
      expect([value, generated.safeParse(value).success]).toEqual([value, data.safeParse(value).success]);
    }
  });
});

describe('the route contracts', () => {
  it("name who logs in at each command of an app, whose idempotency keys would else be one person's", () => {
    const commands = Object.values({ ...accountRoutes, ...eventCatcherRoutes }).filter(
      (contract: RouteContract) => contract.command === true && contract.auth === 'app',
    ) as RouteContract[];
    expect(commands.length).toBeGreaterThan(0);
    for (const { identifiedBy = '', body } of commands) {
      expect(Object.keys((body as z.ZodObject | undefined)?.shape ?? {})).toContain(identifiedBy);
    }
  });
});
