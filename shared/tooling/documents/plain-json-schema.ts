import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { CreateDocumentOptions } from 'zod-openapi';

type Override = Extract<CreateDocumentOptions['override'], (...context: never[]) => void>;
type JsonSchema = Parameters<Override>[0]['jsonSchema'];

/** The greatest integer of 32 bits. */
const INT32_MAX = 2 ** 31 - 1;

/** JSON Schema knows base64url as an encoding of content, and not as a format: strict readers refuse unknown formats. */
export const encodingIsNoFormat = ({ jsonSchema }: { jsonSchema: JsonSchema }): void => {
  if (jsonSchema.format === jsonSchema.contentEncoding) delete jsonSchema.format;
};

/**
 * Writes schemas in the words that every generator of clients knows. Some make a class without members of a choice
 * (`anyOf`), read an integer as 32 bits unless it says otherwise, and refuse members that were added later.
 */
export const plainJsonSchema: Override = ({ zodSchema, jsonSchema, io }) => {
  const { def } = zodSchema._zod;
  // What a query says is text; the schema of the number that it must be is the second one.
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
 * A nullable schema has two types, and what may be one or a batch says so. Any other choice is any JSON, which its description
 * explains.
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
