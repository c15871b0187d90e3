import { z } from 'zod';
import { eventCatalogue } from '../../../schemas/events/catalogue.ts';
import { publishedData } from '../../../schemas/events/event.ts';
import { publishedExample } from '../../../schemas/examples/published-examples.ts';
import { commandRefused, streamCommands } from '../../../schemas/socket/stream-commands.ts';
import { STREAM_NAMESPACE, streamMessages } from '../../../schemas/socket/stream-messages.ts';
import { parkedTopics, topics, type PublishedType } from '../../../schemas/topics.ts';
import { encodingIsNoFormat } from './plain-json-schema.ts';

const cloudEventHeaders = z.object({
  'content-type': z.literal('application/json'),
  ce_specversion: z.literal('1.0'),
  ce_id: z.uuid().describe('event id: the same when a record is published again'),
  ce_type: z.string().describe('annals.<EventName>.v<schema version>'),
  ce_source: z.string(),
  ce_subject: z.string().describe('stream'),
  ce_time: z.iso.datetime({ precision: 3 }),
  ce_dataschema: z.url(),
  ce_sequence: z.string().describe('revision in the stream'),
  ce_position: z
    .string()
    .describe('position in the event store; of two messages of a key the greater is newer, whichever came last'),
  ce_correlationid: z.string().describe('request id'),
  ce_causationid: z.string().optional(),
  traceparent: z.string().optional(),
  ce_annalsmac: z
    .string()
    .describe(
      'the signature of the relay, for this service alone: base64url of 16 bytes; absent in older messages, and in the embedded bus',
    )
    .optional(),
});

const parkedHeaders = cloudEventHeaders
  .pick({
    'content-type': true,
    ce_specversion: true,
    ce_id: true,
    ce_type: true,
    ce_source: true,
    ce_subject: true,
    ce_sequence: true,
    ce_position: true,
    ce_annalsmac: true,
  })
  .extend({
    ce_parkedreason: z.string().describe('why the event could not be published'),
    ce_parkedpolicy: z.literal('continue').describe('the later events of its key are published'),
  });

const keys: Record<keyof typeof topics, string> = {
  users: 'user id, lower case',
  transactions: 'eip155:<chainId>/<sender>, lower case',
  contracts: 'eip155:<chainId>/<contract>, lower case',
  chainEvents: 'eip155:<chainId>/<contract>, lower case',
};

/** @param place JSON pointer of the schema in the document: references are resolved from the root */
const jsonSchema = (schema: z.ZodType, place: string): object => {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io: 'input', override: encodingIsNoFormat });
  return JSON.parse(JSON.stringify(described).replaceAll('"#/$defs/', `"${place}/$defs/`)) as object;
};

const eventMessage = (channel: string, type: PublishedType): Record<string, unknown> => {
  const definition = eventCatalogue[type];
  return {
    name: `annals.${type}.v${String(definition.version)}`,
    contentType: 'application/json',
    headers: { $ref: '#/components/schemas/CloudEventHeaders' },
    payload: jsonSchema(publishedData(definition), `#/channels/${channel}/messages/${type}/payload`),
    examples: [{ payload: publishedExample(type) }],
  };
};

const parkedMessage = {
  name: 'parked',
  contentType: 'application/json',
  headers: { $ref: '#/components/schemas/ParkedHeaders' },
  payload: { description: "the event's data; null where it is too large for a message" },
};

/** Returns the AsyncAPI 3.0 document of the topics and of the stream's socket. */
export const asyncApiDocument = (): object => {
  const names = Object.keys(topics) as (keyof typeof topics)[];
  const topicChannels = names.map((name): [string, object] => [
    name,
    {
      address: topics[name].name,
      description: `Key: ${keys[name]}. ${String(topics[name].partitions)} partitions.`,
      messages: Object.fromEntries(topics[name].events.map((type) => [type, eventMessage(name, type)])),
    },
  ]);
  const parkedChannels = names.map((name): [string, object] => [
    `${name}-parked`,
    {
      address: parkedTopics[name].name,
      description: `Events that could not be published in ${topics[name].name}. ${String(parkedTopics[name].partitions)} partitions.`,
      messages: { parked: parkedMessage },
    },
  ]);
  const topicOperations = [...topicChannels, ...parkedChannels].map(([name]): [string, object] => [
    `publish-${name}`,
    { action: 'send', channel: reference(name) },
  ]);
  return {
    asyncapi: '3.0.0',
    info: { title: 'Annals topics and stream', version: '1' },
    channels: { ...Object.fromEntries([...topicChannels, ...parkedChannels]), stream: streamChannel() },
    operations: {
      ...Object.fromEntries(topicOperations),
      'stream-commands': {
        action: 'receive',
        channel: reference('stream'),
        messages: Object.keys(streamCommands).map(streamMessage),
      },
      'stream-messages': {
        action: 'send',
        channel: reference('stream'),
        messages: Object.keys(streamMessages).map(streamMessage),
      },
    },
    components: {
      schemas: {
        CloudEventHeaders: jsonSchema(cloudEventHeaders, '#/components/schemas/CloudEventHeaders'),
        ParkedHeaders: jsonSchema(parkedHeaders, '#/components/schemas/ParkedHeaders'),
      },
    },
  };
};

/** Describes commands with their answers, and the messages that the server sends. */
const streamChannel = (): object => {
  const commands = Object.entries(streamCommands).map(([name, { payload, answer }]): [string, object] => [
    name,
    {
      name,
      payload: jsonSchema(payload, `${streamMessagePlace(name)}/payload`),
      'x-acknowledgement': {
        oneOf: [answer, commandRefused].map((schema, index) =>
          jsonSchema(schema, `${streamMessagePlace(name)}/x-acknowledgement/oneOf/${String(index)}`),
        ),
      },
    },
  ]);
  const messages = Object.entries(streamMessages).map(([name, payload]): [string, object] => [
    name,
    { name, payload: jsonSchema(payload, `${streamMessagePlace(name)}/payload`) },
  ]);
  return {
    address: STREAM_NAMESPACE,
    description:
      'Socket.IO 4 namespace, WebSocket only; connect with auth {token}, an access token or a connection token of the gateway. A refused connection: connect_error.data.',
    messages: Object.fromEntries([...commands, ...messages]),
  };
};

const reference = (channel: string): object => ({ $ref: `#/channels/${channel}` });
const streamMessagePlace = (name: string): string => `#/channels/stream/messages/${name}`;
const streamMessage = (name: string): object => ({ $ref: streamMessagePlace(name) });
