import { z } from 'zod';

/** The cause of an event. `system` is the service itself, `admin` the operator's command line. */
export const actor = z.object({ type: z.enum(['user', 'app', 'system', 'admin']), id: z.string() });

/** Stored with every event. Members may only be added. */
export const eventMetadata = z.object({
  correlationId: z.string(),
  causationId: z.string().optional(),
  actor,
  app: z.string().optional(),
  session: z.string().optional(),
  traceparent: z.string().optional(),
});
export type EventMetadata = z.infer<typeof eventMetadata>;

export interface EventDefinition<Schema extends z.ZodType = z.ZodType> {
  version: number;
  data: Schema;
}

export const event = <Schema extends z.ZodType>(version: number, data: Schema): EventDefinition<Schema> => ({
  version,
  data,
});

/** The URL of the JSON Schema of an event's data. Its last part is the file's name in `schemas/generated/events/`. */
export const dataSchemaUrl = (type: string, version: number): string =>
  `https://annals.dev/schemas/${type}.v${String(version)}.json`;

/** The union of `{type, data}` that a table of event definitions describes. */
export type EventOf<Definitions extends Record<string, EventDefinition>> = {
  [Type in keyof Definitions & string]: { type: Type; data: z.infer<Definitions[Type]['data']> };
}[keyof Definitions & string];
