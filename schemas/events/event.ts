import { z } from 'zod';

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

export interface EventDefinition<Schema extends z.ZodType = z.ZodType> {
  version: number;
  /** In the clear, as code sees it; of an event with personal members the form of version 1. */
  data: Schema;
  /** The members with a user's personal texts, which are stored as `SealedText`. The event names its user by `userId`. */
  personal: readonly string[];
  /** Whether it belongs to the history of its user, and is stored with a digest. */
  isAudited: boolean;
  /** By member, the members of it that never reach Kafka. */
  unpublished: Readonly<Record<string, readonly string[]>>;
}

export const event = <Schema extends z.ZodType>(
  version: number,
  data: Schema,
  {
    personal = [],
    isAudited = false,
    unpublished = {},
  }: Partial<Pick<EventDefinition, 'personal' | 'isAudited' | 'unpublished'>> = {},
): EventDefinition<Schema> => ({ version, data, personal, isAudited, unpublished });

/** The schema of an event's data as it is stored. */
export const storedData = ({ data, personal }: EventDefinition): z.ZodType => {
  if (personal.length === 0 || !(data instanceof z.ZodObject)) return data;
  const shape = Object.entries(data.shape as Record<string, z.ZodType>).map(
    ([member, schema]) => [member, personal.includes(member) ? sealedForm(schema) : schema] as const,
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
