import { z } from 'zod';
import type { JsonObject } from '../json.ts';

/** The cause of an event. `system` is the service itself, `admin` the operator's command line. */
export const actor = z.object({ type: z.enum(['user', 'app', 'system', 'admin']), id: z.string() });

/** A user's personal text as it is stored: AES-256-GCM with that user's data key. */
export const sealedText = z.object({
  enc: z.base64url().describe('base64url of IV (12 bytes), ciphertext and tag (16 bytes)'),
  kid: z.string().describe('the id of the data key'),
});
export type SealedText = z.infer<typeof sealedText>;

/** Stored with every event. Members may only be added. */
export const eventMetadata = z.object({
  correlationId: z.string(),
  causationId: z.string().optional(),
  actor,
  app: z.string().optional(),
  session: z.string().optional(),
  traceparent: z.string().optional(),
  /** Of an event of a user's history: SHA-256 of `salt` followed by the RFC 8785 form of the data, in lower-case hex. */
  digest: z.string().optional(),
  /** 32 hex characters. Once opened it is text, and `null` where the user's key was destroyed. */
  salt: z.union([sealedText, z.string(), z.null()]).optional(),
});
export type EventMetadata = z.infer<typeof eventMetadata>;

/** Why data about a person is stored, and until when: sentences that the person reads (`GET /user/{id}/data`). */
export interface Held {
  purpose: string;
  retention: string;
}

/**
 * Makes the data of the next version of the data of one, both as they are stored: texts of personal members are sealed. Pure,
 * and must not throw.
 */
type Upcast = (data: JsonObject) => JsonObject;

export interface EventDefinition<Schema extends z.ZodType = z.ZodType> {
  version: number;
  /** In the clear, as code sees it; of an event with personal members the form of version 1. */
  data: Schema;
  /**
   * The members with a user's personal texts, which are stored as `SealedText`, and why each is held. The event names its
   * user by `userId`.
   */
  personal: Readonly<Record<string, Held>>;
  /** Why the members in the clear are held. Every event that names a user has it. */
  held: Held | undefined;
  /** Whether it belongs to the history of its user, and is stored with a digest. */
  isAudited: boolean;
  /** By member, the members of it that never reach Kafka. */
  unpublished: Readonly<Record<string, readonly string[]>>;
  /** By version, what makes the next one of it. A version that the next one only adds members to has none. */
  upcasts: Readonly<Record<number, Upcast>>;
}

interface EventOptions<Schema extends z.ZodType> {
  personal?: { readonly [Member in keyof z.infer<Schema> & string]?: Held };
  isAudited?: boolean;
  unpublished?: EventDefinition['unpublished'];
  upcasts?: EventDefinition['upcasts'];
}

/** An event that names a user does not compile without `held`. */
type OptionsOf<Schema extends z.ZodType> = 'userId' extends keyof z.infer<Schema>
  ? [options: EventOptions<Schema> & { held: Held }]
  : [options?: EventOptions<Schema> & { held?: Held }];

export const event = <Schema extends z.ZodType>(
  version: number,
  data: Schema,
  ...[options]: OptionsOf<Schema>
): EventDefinition<Schema> => {
  const { personal = {}, held, isAudited = false, unpublished = {}, upcasts = {} } = options ?? {};
  return { version, data, personal, held, isAudited, unpublished, upcasts };
};

/** The schema of an event's data as it is stored. */
export const storedData = ({ data, personal }: EventDefinition): z.ZodType => {
  if (Object.keys(personal).length === 0 || !(data instanceof z.ZodObject)) return data;
  const shape = Object.entries(data.shape as Record<string, z.ZodType>).map(
    ([member, schema]) => [member, Object.hasOwn(personal, member) ? sealedForm(schema) : schema] as const,
  );
  return z.object(Object.fromEntries(shape));
};

/** The schema of an event's data as it is published. */
export const publishedData = (definition: EventDefinition): z.ZodType => {
  const stored = storedData(definition);
  if (!(stored instanceof z.ZodObject)) return stored;
  const { shape }: z.ZodObject<Record<string, z.ZodType>> = stored;
  const members = Object.entries(shape).map(([member, schema]) => {
    const hidden = definition.unpublished[member];
    return [member, hidden && schema instanceof z.ZodObject ? without(schema, hidden) : schema] as const;
  });
  return z.object(Object.fromEntries(members));
};

const without = ({ shape }: z.ZodObject, hidden: readonly string[]): z.ZodType =>
  z.object(Object.fromEntries(Object.entries(shape).filter(([member]) => !hidden.includes(member))));

const sealedForm = (schema: z.ZodType): z.ZodType => {
  if (schema.type === 'string') return sealedText;
  if (schema instanceof z.ZodNullable) return sealedForm(schema.unwrap() as z.ZodType).nullable();
  if (schema instanceof z.ZodExactOptional) return sealedForm(schema.unwrap() as z.ZodType).exactOptional();
  if (!(schema instanceof z.ZodObject)) return schema;
  const { shape }: z.ZodObject<Record<string, z.ZodType>> = schema;
  return z.object(Object.fromEntries(Object.entries(shape).map(([member, one]) => [member, sealedForm(one)])));
};

/** The URL of the JSON Schema of an event's data. Its last part is the file's name in `schemas/generated/events/`. */
export const dataSchemaUrl = (type: string, version: number): string =>
  `https://annals.dev/schemas/${type}.v${String(version)}.json`;

/** The union of `{type, data}` that a table of event definitions describes. */
export type EventOf<Definitions extends Record<string, EventDefinition>> = {
  [Type in keyof Definitions & string]: { type: Type; data: z.infer<Definitions[Type]['data']> };
}[keyof Definitions & string];
