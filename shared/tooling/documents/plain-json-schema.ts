import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { CreateDocumentOptions } from 'zod-openapi';

type Override = Extract<CreateDocumentOptions['override'], (...context: never[]) => void>;
type JsonSchema = Parameters<Override>[0]['jsonSchema'];

/** The greatest integer of 32 bits. */
const INT32_MAX = 2 ** 31 - 1;

/** base64url is an encoding of content in JSON Schema, not a format, and strict readers refuse unknown formats. */
export const encodingIsNoFormat = ({ jsonSchema }: { jsonSchema: JsonSchema }): void => {
  if (jsonSchema.format === jsonSchema.contentEncoding) delete jsonSchema.format;
};

/**
 * Rewrites schemas in terms that every client generator knows. Some turn a choice (`anyOf`) into a class without
 * members, read an integer as 32 bits unless it says otherwise, and refuse members that were added later.
 */
export const plainJsonSchema: Override = ({ zodSchema, jsonSchema, io }) => {
  const { def } = zodSchema._zod;
  // A query parameter is text; the second schema of the pipe is that of the number.
  if (def.type === 'pipe' && io === 'input') {
    const { $schema: _, ...number } = z.toJSONSchema(def.out);
    Object.assign(jsonSchema, number);
  }
  withoutChoice(jsonSchema);
  if ([jsonSchema.type].flat().includes('integer')) plainInteger(jsonSchema);
  if (jsonSchema.format === 'date-time') jsonSchema.pattern = ISO_TIME.source;
  if (jsonSchema.const !== undefined) {
    jsonSchema.enum = [jsonSchema.const];
    delete jsonSchema.const;
  }
  if (jsonSchema.type !== 'object') return;
  delete jsonSchema.propertyNames;
  const { additionalProperties } = jsonSchema;
  if (additionalProperties === false) delete jsonSchema.additionalProperties;
  else if (additionalProperties && Object.keys(additionalProperties).length === 0)
    jsonSchema.additionalProperties = true;
};

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/**
 * Keeps a choice between one item and a batch. A nullable schema gets two types. Any other choice becomes arbitrary
 * JSON, which its description explains.
 */
const withoutChoice = (jsonSchema: JsonSchema): void => {
  const { anyOf } = jsonSchema;
  if (!anyOf) return;
  const [one, batch] = anyOf;
  if (batch?.type === 'array' && isDeepStrictEqual(batch.items, one)) return;
  delete jsonSchema.anyOf;
  const [schema, ...others] = anyOf.filter(({ type }) => type !== 'null');
  if (others.length > 0 || typeof schema?.type !== 'string') return;
  const description = jsonSchema.description ?? schema.description;
  Object.assign(jsonSchema, schema, { type: [schema.type, 'null'] }, description !== undefined && { description });
};

const plainInteger = (jsonSchema: JsonSchema): void => {
  const { exclusiveMinimum, minimum, maximum = Infinity } = jsonSchema;
  if (minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (typeof exclusiveMinimum === 'number') {
    delete jsonSchema.exclusiveMinimum;
    jsonSchema.minimum = exclusiveMinimum + 1;
  }
  if (maximum > INT32_MAX) jsonSchema.format = 'int64';
};
