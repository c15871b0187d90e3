import { z } from 'zod';
import { blockNumber, chainId, contractInput, hashInput } from '../../values.ts';
import { asOf } from '../as-of.ts';
import { eventRecord, recordStatus } from './event-record.ts';
import { gatewayRoutes } from './gateway-routes.ts';
import { route } from '../route.ts';
import { blockGap, queriedContract, watchedContract, watchStatus } from './watched-contract.ts';

const eventCatcher = { service: 'event-catcher', appTokens: true } as const;
/** Every route with a token takes connection tokens, too: their signers claim, list, query and stop as themselves. */
const withToken = { ...eventCatcher, auth: 'bearer', connectionTokens: true } as const;

const chainIdInput = z.coerce.number().pipe(chainId);
const blockInput = z.coerce.number().pipe(blockNumber);
const watchIdInput = z
  .string()
  .max(64)
  .optional()
  .describe(
    'the id of one of several registrations of the event; without it the oldest that the caller claims is meant, ' +
      'else the oldest that its app itself claims, else the oldest of all',
  );
const page = {
  take: z.coerce.number().pipe(z.int().min(1).max(1_000)).default(10),
  skip: z.coerce.number().pipe(z.int().min(0).max(10_000)).default(0),
};

const watchParams = z.object({ id: z.string().max(64) });

const count = z.int().nonnegative();

const onlyTried = 'only with dryRun';

export const registeredContract = watchedContract.extend({
  warnings: z.array(z.string()).optional(),
  gaps: z
    .array(blockGap.omit({ since: true }))
    .optional()
    .describe(`${onlyTried}: blocks that no provider of the chain gives`),
  sample: z
    .array(
      eventRecord.pick({
        Id: true,
        BlockNumber: true,
        BlockHash: true,
        TxHash: true,
        TxIndex: true,
        LogIndex: true,
        Data: true,
      }),
    )
    .optional()
    .describe(`${onlyTried}: some of the newest logs, decoded, in chain order`),
  estimate: z
    .object({ blocks: count, records: count, calls: count, seconds: count })
    .optional()
    .describe(
      `${onlyTried}: what is to be read, if all blocks are as the newest; roughly how many calls and how long it takes`,
    ),
});
export type RegisteredContract = z.infer<typeof registeredContract>;

export const replayedContract = z.object({
  id: z.string(),
  fromBlock: blockNumber,
  toBlock: blockNumber.describe('inclusive'),
});
export type ReplayedContract = z.infer<typeof replayedContract>;

export const watchedContracts = z.object({
  items: z.array(queriedContract),
  take: count,
  skip: count,
  total: count,
});
export type WatchedContracts = z.infer<typeof watchedContracts>;

export const eventPage = z.object({
  items: z.array(eventRecord),
  take: count,
  skip: count,
  total: count.describe('number of records in all pages'),
  next: z.string().nullable().describe('the cursor of the next page; null on the last page'),
  cursor: z
    .string()
    .nullable()
    .describe(
      'the place in the stream after which a subscription to any event of the contract continues this answer, all pages ' +
        'of which have the same; with status=finalized that of a subscription to final events, and null where head is',
    ),
  head: blockNumber
    .nullable()
    .describe(
      'the block up to which the answer has everything; null as of an earlier time, before the chain was read, and ' +
        'while records of blocks that were read are still being stored',
    ),
});
export type EventPage = z.infer<typeof eventPage>;

/** Every route of the event catcher. */
export const eventCatcherRoutes = {
  registerContract: route({
    ...withToken,
    method: 'POST',
    path: '/api/v1/contracts',
    summary: 'Watch an event of a contract; 200 when it is watched already',
    rateLimit: 'register',
    command: true,
    query: z.object({
      dryRun: z
        .enum(['true', 'false'])
        .optional()
        .describe('true: nothing is registered; 200 with what would be, a sample of it, and an estimate'),
    }),
    body: z.object({
      chainId,
      contractAddress: contractInput,
      eventSignature: z.string().describe('with or without the word event, parameter names and ;'),
      eventAbi: z
        .unknown()
        .refine((abi) => abi !== undefined && abi !== null, 'is required')
        .describe(
          'a JSON array of items or human-readable fragments, or an artifact with one as abi, or the text of either',
        ),
      startBlock: z
        .union([blockNumber, z.enum(['latest', 'deploy'])], 'is not a block number, nor latest, nor deploy')
        .describe('a block number; latest: the newest one; deploy: the first block in which the address ever had code'),
    }),
    status: 201,
    repeated: 200,
    answer: registeredContract,
    problems: [
      'chain_not_supported',
      'event_signature_invalid',
      'event_abi_mismatch',
      'start_block_in_future',
      'deploy_block_unknown',
      'quota_exceeded',
    ],
  }),
  listContracts: route({
    ...withToken,
    method: 'GET',
    path: '/api/v1/contracts',
    summary: 'All watched events',
    query: z.object({ chainId: chainIdInput.optional(), contractAddress: contractInput.optional(), ...page, asOf }),
    status: 200,
    answer: watchedContracts,
    problems: ['not_caught_up'],
  }),
  getContract: route({
    ...withToken,
    method: 'GET',
    path: '/api/v1/contracts/{id}',
    summary: 'One watched event of a contract',
    params: watchParams,
    query: z.object({ asOf }),
    status: 200,
    answer: queriedContract,
    problems: ['watch_not_found', 'not_caught_up'],
  }),
  removeContract: route({
    ...withToken,
    method: 'DELETE',
    path: '/api/v1/contracts/{id}',
    summary: 'Drop the own claim on a watched event; the last one stops it',
    command: true,
    params: watchParams,
    status: 204,
    answer: z.undefined(),
    problems: ['watch_not_found'],
  }),
  pauseContract: route({
    ...withToken,
    method: 'POST',
    path: '/api/v1/contracts/{id}/pause',
    summary: 'Read nothing more of a watched event, as the only one who claims it, or as the app of all who do',
    command: true,
    params: watchParams,
    status: 200,
    answer: watchedContract,
    problems: ['watch_not_found', 'forbidden'],
  }),
  resumeContract: route({
    ...withToken,
    method: 'POST',
    path: '/api/v1/contracts/{id}/resume',
    summary: 'Read a paused event again, from where it was paused',
    command: true,
    params: watchParams,
    status: 200,
    answer: watchedContract,
    problems: ['watch_not_found', 'forbidden', 'quota_exceeded'],
  }),
  replayContract: route({
    ...withToken,
    method: 'POST',
    path: '/api/v1/contracts/{id}/replay',
    summary: 'Read final blocks of a watched event again, as whoever may pause it, and store only what differs',
    command: true,
    params: watchParams,
    body: z
      .object({
        fromBlock: blockNumber.optional().describe('the start block, unless it is given'),
        toBlock: blockNumber.optional().describe('inclusive; the finalized block, unless it is given'),
      })
      .optional(),
    status: 202,
    answer: replayedContract,
    problems: ['watch_not_found', 'forbidden', 'not_caught_up'],
  }),
  queryEvents: route({
    ...withToken,
    method: 'GET',
    path: '/api/v1/events',
    summary: 'Past events of a contract, in chain order; also as an export',
    rateLimit: 'query',
    query: z
      .object({
        chainId: chainIdInput,
        contractAddress: contractInput,
        eventSignature: z
          .string()
          .optional()
          .describe('the bare name, the signature without names, or the canonical form'),
        watchId: watchIdInput,
        txHash: hashInput.optional(),
        ...page,
        cursor: z.string().optional().describe('next of the previous page; skip then counts from there'),
        fromBlock: blockInput.optional(),
        toBlock: blockInput.optional().describe('inclusive'),
        status: recordStatus.optional().describe('reverted records are left out unless requested'),
        order: z.enum(['asc', 'desc']).default('asc'),
        asOf: asOf.describe(
          `${asOf.description ?? ''}; the Status of a record is observed or reverted then, and none is finalized`,
        ),
      })
      .catchall(z.unknown()),
    openParameters: {
      prefix: 'arg.',
      description: 'arg.<name>=<value>, of any number of arguments: records whose argument of that name has that value',
    },
    status: 200,
    answer: eventPage,
    streams: {
      'application/x-ndjson': z
        .string()
        .describe(
          'everything that matches, one record as JSON in each line, whatever take and skip are; ' +
            'an answer that fails is cut: the last chunk of its transfer encoding is missing',
        ),
      'text/csv': z
        .string()
        .describe(
          'the same as RFC 4180 says, with a header line; Data is JSON in which \\u003b stands for a semicolon, ' +
            'so that no field begins with what a spreadsheet takes for a formula',
        ),
    },
    problems: ['watch_not_found', 'cursor_invalid', 'not_caught_up'],
  }),
  readStatus: route({
    ...eventCatcher,
    method: 'GET',
    path: '/api/v1/status/{chainId}/{contractAddress}/{eventName}',
    summary: 'How far a watched event has been read',
    auth: 'none',
    params: z.object({
      chainId: chainIdInput,
      contractAddress: contractInput,
      eventName: z.string().describe('the name, or the signature without names'),
    }),
    query: z.object({ watchId: watchIdInput }),
    status: 200,
    answer: watchStatus,
    problems: ['watch_not_found', 'not_caught_up'],
  }),
  ...gatewayRoutes,
};
