import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';

export type Json = JsonValue;

export const json = z.json() as z.ZodType<Json>;

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a text as it is, and any other value as JSON. */
export const textOf = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

/**
 * Returns the value with each text such as `$reader.events.0.cursor` replaced by what it refers to.
 * @param valueOf of the name before the first point @throws Error when a reference leads nowhere
 */
export const resolveReferences = (value: Json, valueOf: (name: string) => Json | undefined): Json => {
  if (Array.isArray(value)) return value.map((item) => resolveReferences(item, valueOf));
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, resolveReferences(item, valueOf)] as const),
    );
  if (typeof value !== 'string' || !/^\$[a-z]/i.test(value)) return value;
  const [name = '', ...path] = value.slice(1).split('.');
  let found = valueOf(name);
  for (const part of path) found = memberOf(found, part);
  if (found === undefined) throw new Error(`there is no ${value}`);
  return found;
};

const memberOf = (value: Json | undefined, name: string): Json | undefined => {
  if (Array.isArray(value)) return value.at(Number(name));
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
};
