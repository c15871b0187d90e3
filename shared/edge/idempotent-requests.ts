import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { EventMetadata } from '../../schemas/events/event.ts';
import { requestEvents, type RequestEvent } from '../../schemas/events/request-events.ts';
import { deriveKey } from '../keys/derive-key.ts';
import { openText, sealText } from '../keys/sealed-text.ts';
import { Refusal } from '../errors/refusal.ts';
import { NO_STREAM, WrongExpectedRevision, type StoredEvent } from '../event-store/event-store.ts';
import { appendConfirmed, toAppend, Transactor } from '../event-store/transact.ts';
import { sha256 } from '../primitives/ids.ts';
import { pause } from '../primitives/pause.ts';
import { MASTER_KEY } from './tokens.ts';

const KEPT_MS = 24 * 3_600_000;
/** Without an answer for this long, the process that carries out the request is assumed to have crashed. */
const TAKEOVER_MS = 10_000;
const POLL_MS = 25;

const answer = z.object({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  /** JSON. */
  body: z.unknown(),
});
/** The parts of an answer that are needed to repeat it. */
export type StoredAnswer = z.infer<typeof answer>;

export interface IdempotentRequest {
  caller: string;
  /** The `Idempotency-Key`. */
  key: string;
  /** A hash of method, path and body. */
  fingerprint: string;
  metadata: EventMetadata;
}

interface Entry {
  revision: number;
  fingerprint: string;
  receivedAt: number;
  /** `undefined`: in progress; `null`: failed temporarily. */
  sealedAnswer: string | null | undefined;
}

/** Carries out a request with an `Idempotency-Key` once, in any process, and repeats the answer for 24 h. */
@Injectable()
export class IdempotentRequests {
  private readonly key: Buffer;

  constructor(
    private readonly transactor: Transactor,
    @Inject(MASTER_KEY) masterKey: Uint8Array,
  ) {
    this.key = deriveKey(masterKey, 'idempotent answers');
  }

  /**
   * @param carryOut returns `undefined` for a temporary failure, whose answer must not be repeated
   * @throws Refusal idempotency_key_reused; dependency_unavailable when the first request takes too long
   */
  async once(
    request: IdempotentRequest,
    carryOut: () => Promise<StoredAnswer | undefined>,
  ): Promise<StoredAnswer | undefined> {
    const { store, clock } = this.transactor;
    const stream = `request-${sha256(JSON.stringify([request.caller, request.key]))}`;
    const giveUpAt = performance.now() + 2 * TAKEOVER_MS;
    while (performance.now() < giveUpAt) {
      const entry = lastEntry(await store.read(stream));
      const kept = entry && entry.receivedAt + KEPT_MS > clock.now() ? entry : undefined;
      if (kept && kept.fingerprint !== request.fingerprint) {
        throw new Refusal('idempotency_key_reused', 'the key was used for another request');
      }
      if (typeof kept?.sealedAnswer === 'string') return this.open(stream, kept.sealedAnswer);
      if (kept?.sealedAnswer === undefined && kept && kept.receivedAt + TAKEOVER_MS > clock.now()) {
        await pause(POLL_MS);
        continue;
      }
      const revision = await this.receive(stream, entry?.revision ?? NO_STREAM, request);
      if (revision !== undefined) return this.carryOut(stream, revision, request, carryOut);
    }
    throw new Refusal('dependency_unavailable', 'the same request is still in progress', { retryAfter: 1 });
  }

  /** Returns the revision that makes this caller responsible for the request; `undefined` when another caller is. */
  private async receive(stream: string, expected: number, request: IdempotentRequest): Promise<number | undefined> {
    const { fingerprint, metadata } = request;
    return this.append(stream, expected, { type: 'RequestReceived', data: { fingerprint } }, metadata);
  }

  private async carryOut(
    stream: string,
    revision: number,
    { metadata }: IdempotentRequest,
    carryOut: () => Promise<StoredAnswer | undefined>,
  ): Promise<StoredAnswer | undefined> {
    let carriedOut: StoredAnswer | undefined;
    try {
      carriedOut = await carryOut();
      return carriedOut;
    } finally {
      const sealedAnswer = carriedOut ? sealText(this.key, stream, JSON.stringify(carriedOut)) : null;
      // If another caller has taken over, its answer is the one that is repeated.
      await this.append(stream, revision, { type: 'RequestAnswered', data: { sealedAnswer } }, metadata);
    }
  }

  private async append(stream: string, expected: number, event: RequestEvent, metadata: EventMetadata) {
    try {
      const events = [toAppend(event, metadata, this.transactor)];
      const { revision } = await appendConfirmed(this.transactor.store, stream, expected, events);
      return revision;
    } catch (error) {
      if (error instanceof WrongExpectedRevision) return undefined;
      throw error;
    }
  }

  private open(stream: string, sealedAnswer: string): StoredAnswer {
    return answer.parse(JSON.parse(openText(this.key, stream, sealedAnswer)));
  }
}

const lastEntry = (events: StoredEvent[]): Entry | undefined => {
  let entry: Entry | undefined;
  for (const { type, data, time, revision } of events) {
    if (type === 'RequestReceived') {
      const { fingerprint } = requestEvents.RequestReceived.data.parse(data);
      entry = { revision, fingerprint, receivedAt: time, sealedAnswer: undefined };
    } else if (entry) {
      const { sealedAnswer } = requestEvents.RequestAnswered.data.parse(data);
      entry = { ...entry, revision, sealedAnswer };
    }
  }
  return entry;
};
