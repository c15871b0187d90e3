import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { eventCatalogue, type EventType } from '../../schemas/events/catalogue.ts';
import { dataSchemaUrl } from '../../schemas/events/event.ts';
import { topics } from '../../schemas/topics.ts';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { generatedDocuments } from './generated-documents.ts';

const folder = join(import.meta.dirname, '../../schemas/generated');

/** Events of that version are still stored, and their messages name it: its file stays as it was. */
const isEarlierVersion = (name: string): boolean => {
  const [, type = '', version] = /^events\/(\w+)\.v(\d+)\.json$/.exec(name) ?? [];
  return type in eventCatalogue && Number(version) < eventCatalogue[type as EventType].version;
};

/** Every `$ref` of a document. */
const referencesIn = (node: unknown): string[] =>
  typeof node !== 'object' || node === null
    ? []
    : Object.entries(node).flatMap(([name, value]) =>
        name === '$ref' ? [String(value)] : referencesIn(value as unknown),
      );

/** What a reference within a document leads to: a JSON pointer from its root. */
const at = (document: unknown, reference: string): unknown =>
  reference
    .slice('#/'.length)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((node, part) => (node as Record<string, unknown> | undefined)?.[part], document);

describe('generated documents', () => {
  it.each([...generatedDocuments()])('%s is committed as the schemas have it: npm run generate', (name, text) => {
    expect(JSON.parse(readFileSync(join(folder, name), 'utf8'))).toEqual(JSON.parse(text));
  });

  it('has no file that nothing generates, but for earlier versions of events', () => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const names = files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
    expect(names.filter((name) => !isEarlierVersion(name)).sort()).toEqual([...generatedDocuments().keys()].sort());
  });

  it.each([...generatedDocuments()])('%s refers to nothing that is not there', (_, text) => {
    const document: unknown = JSON.parse(text);
    for (const reference of referencesIn(document)) {
      expect(reference).toMatch(/^#\//);
      expect([reference, at(document, reference)]).toEqual([reference, expect.any(Object)]);
    }
  });
});

describe('the JSON Schema of an event', () => {
  it.each(Object.values(topics).flatMap(({ events }) => [...events]))(
    'that is published is kept of every version: %s',
    (type) => {
      const versions = Array.from({ length: eventCatalogue[type].version }, (_, before) => before + 1);
      const missing = versions.filter(
        (version) => !existsSync(join(folder, 'events', basename(dataSchemaUrl(type, version)))),
      );
      expect(missing).toEqual([]);
    },
  );

  it.each(Object.entries(eventCatalogue))('of type %s is found where its header says', (type, { version, data }) => {
    const url = dataSchemaUrl(type, version);
    const text = generatedDocuments().get(`events/${basename(url)}`) ?? '';
    expect(JSON.parse(text)).toMatchObject({ $id: url, $schema: 'https://json-schema.org/draft/2020-12/schema' });
    const example = eventExamples[type as EventType];
    const generated = z.fromJSONSchema(JSON.parse(text) as z.core.JSONSchema.JSONSchema);
    for (const value of [example, { ...example, more: 1 }, {}, null]) {
      expect([value, generated.safeParse(value).success]).toEqual([value, data.safeParse(value).success]);
    }
  });
});
