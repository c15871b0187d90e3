import { createHmac } from 'node:crypto';
import { Inject, Injectable, Optional } from '@nestjs/common';
import { z } from 'zod';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { RequestEvent } from '../../../schemas/events/request-events.ts';
import { deriveKey } from '../../keys/derive-key.ts';
import { openText, sealText } from '../../keys/sealed-text.ts';
import { Refusal } from '../../errors/refusal.ts';
import { hasEndedInStream } from '../../auth/session-ends.ts';
import { PersonalData } from '../../key-vault/personal-data.ts';
import { keptForRepeats } from '../../event-store/permanent-streams.ts';
import { Transactor } from '../../event-store/transactions/transact.ts';
import { sha256 } from '../../primitives/ids.ts';
import { pause } from '../../primitives/waiting/pause.ts';
import { ANSWERS_KEY } from '../tokens.ts';

const KEPT_MS = 24 * 3_600_000;
/** Without an answer for this long, the process that carries out the request is assumed to have crashed. */
const TAKEOVER_MS = 10_000;
const POLL_MS = 25;
/** How long to wait for the answer of a concurrent request with the same signature. */
const SIGNED_ANSWER_MS = 1_000;

const answer = z.object({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  /** JSON; absent for an answer without a body. */
  body: z.unknown().optional(),
  /** Set if the answer starts a session. Once the session has ended, the answer is not repeated. */
  sessionId: z.string().optional(),
});
/** The parts of an answer that are needed to repeat it. */
export type StoredAnswer = z.infer<typeof answer>;

export interface IdempotentRequest {
  caller: string;
  /** The `Idempotency-Key`. */
  key: string;
  /** A hash of method, path and body. */
  fingerprint: string;
  /** The user who receives the answer, if any. */
  userId?: string | undefined;
  metadata: EventMetadata;
}

interface Entry {
  /** The id of RequestReceived. The process that appended it carries the request out. */
  receivedId: string;
  /** The id of the first RequestReceived: unchanged when another process carries the request out again. */
  firstId: string;
  fingerprint: string;
  receivedAt: number;
  /** `undefined`: in progress; `null`: failed temporarily. */
  sealedAnswer: string | null | undefined;
}

/** Whether a request that arrives now must be carried out, rather than repeated or waited for. */
const isToBeDone = (entry: Entry | undefined, nowMs: number): boolean => {
  if (!entry || entry.sealedAnswer === null || entry.receivedAt + KEPT_MS <= nowMs) return true;
  return entry.sealedAnswer === undefined && entry.receivedAt + TAKEOVER_MS <= nowMs;
};

const requestFold = {
  initial: undefined as Entry | undefined,
  evolve: (entry: Entry | undefined, { type, data }: RequestEvent, time: number, id: string): Entry | undefined => {
    switch (type) {
      case 'RequestReceived':
        // Of two that were received concurrently, the first counts.
        if (!isToBeDone(entry, time)) return entry;
        return {
          receivedId: id,
          firstId: entry && entry.receivedAt + KEPT_MS > time ? entry.firstId : id,
          fingerprint: data.fingerprint,
          receivedAt: time,
          sealedAnswer: undefined,
        };
      case 'RequestAnswered':
        return entry && { ...entry, sealedAnswer: data.sealedAnswer };
    }
  },
};

const streamOf = ({ caller, key }: Pick<IdempotentRequest, 'caller' | 'key'>): string =>
  `request-${sha256(JSON.stringify([caller, key]))}`;

/** Carries out a request with an `Idempotency-Key` once, in any process, and repeats the answer for 24 h. */
@Injectable()
export class IdempotentRequests {
  private readonly key: Buffer;
  private readonly fingerprintKey: Buffer;

  constructor(
    private readonly transactor: Transactor,
    @Inject(ANSWERS_KEY) answersKey: Uint8Array,
    /** Only in a service whose answers have personal data. */
    @Optional() private readonly personalData?: PersonalData,
  ) {
    this.key = deriveKey(answersKey, 'idempotent answers');
    this.fingerprintKey = deriveKey(answersKey, 'idempotent fingerprints');
  }

  /**
   * @param carryOut returns `undefined` for a temporary failure, whose answer must not be repeated. Its argument is an
   * id that is the same each time that this request is carried out
   * @throws Refusal idempotency_key_reused; session_revoked if the answer started a session that has ended since;
   * dependency_unavailable if the first request takes too long
   */
  async once(
    request: IdempotentRequest,
    carryOut: (requestId: string) => Promise<StoredAnswer | undefined>,
  ): Promise<StoredAnswer | undefined> {
    const stream = streamOf(request);
    const giveUpAt = performance.now() + 2 * TAKEOVER_MS;
    while (performance.now() < giveUpAt) {
      const { entry, isOurs } = await this.receive(stream, request);
      if (isOurs) return this.carryOut(stream, entry.receivedId, request, () => carryOut(entry.firstId));
      if (typeof entry.sealedAnswer === 'string') return this.repeat(stream, entry.sealedAnswer);
      await pause(POLL_MS);
    }
    throw new Refusal('dependency_unavailable', 'the same request is still in progress', { retryAfter: 1 });
  }

  /** Returns the kept answer, without storing anything. @throws Refusal idempotency_key_reused, session_revoked */
  kept(request: IdempotentRequest): Promise<StoredAnswer | undefined> {
    return this.find(streamOf(request), request);
  }

  /**
   * Like `once`, for a command with a signed body, whose caller is known only after it was carried out: stores nothing
   * for a refused request. The signature can be used only once, so the command is not carried out twice.
   * @throws Refusal what `carryOut` throws; idempotency_key_reused, session_revoked as above
   */
  async onceSigned(
    request: Omit<IdempotentRequest, 'userId'>,
    carryOut: () => Promise<StoredAnswer>,
  ): Promise<StoredAnswer> {
    const stream = streamOf(request);
    const before = await this.find(stream, request);
    if (before) return before;
    try {
      const given = await carryOut();
      const sealedAnswer = await this.seal(stream, undefined, given);
      const { metadata } = request;
      const fingerprint = this.keyed(request.fingerprint);
      await this.transactor.transact({
        stream,
        fold: requestFold,
        metadata,
        keep: keptForRepeats,
        decide: (entry, nowMs): RequestEvent[] =>
          isToBeDone(entry, nowMs)
            ? [
                { type: 'RequestReceived', data: { fingerprint } },
                { type: 'RequestAnswered', data: { sealedAnswer } },
              ]
            : [],
      });
      return given;
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'request_replayed') throw error;
      // A concurrent request may have used the signature, and will store its answer in a moment.
      const giveUpAt = performance.now() + SIGNED_ANSWER_MS;
      while (performance.now() < giveUpAt) {
        const other = await this.find(stream, request);
        if (other) return other;
        await pause(POLL_MS);
      }
      throw error;
    }
  }

  /** Returns the stored answer. @throws Refusal idempotency_key_reused, session_revoked */
  private async find(
    stream: string,
    { fingerprint }: Pick<IdempotentRequest, 'fingerprint'>,
  ): Promise<StoredAnswer | undefined> {
    const { state: entry } = await this.transactor.load(stream, requestFold);
    if (!entry || entry.receivedAt + KEPT_MS <= this.transactor.clock.now()) return undefined;
    this.requireSame(entry, fingerprint);
    return typeof entry.sealedAnswer === 'string' ? this.repeat(stream, entry.sealedAnswer) : undefined;
  }

  /** A plain hash of a body with an email could be found by trial, even after the person was erased. */
  private keyed(fingerprint: string): string {
    return createHmac('sha256', this.fingerprintKey).update(fingerprint).digest('hex');
  }

  private requireSame(entry: Entry, fingerprint: string): void {
    if (entry.fingerprint === this.keyed(fingerprint)) return;
    throw new Refusal('idempotency_key_reused', 'the key was used for another request');
  }

  private async receive(
    stream: string,
    { fingerprint, metadata }: IdempotentRequest,
  ): Promise<{ entry: Entry; isOurs: boolean }> {
    const { state, appended } = await this.transactor.transact({
      stream,
      fold: requestFold,
      metadata,
      keep: keptForRepeats,
      decide: (entry, nowMs): RequestEvent[] => {
        const isKept = entry && entry.receivedAt + KEPT_MS > nowMs;
        if (isKept) this.requireSame(entry, fingerprint);
        return isToBeDone(entry, nowMs)
          ? [{ type: 'RequestReceived', data: { fingerprint: this.keyed(fingerprint) } }]
          : [];
      },
    });
    if (!state) throw new Error('the received request is missing');
    return { entry: state, isOurs: appended };
  }

  private async carryOut(
    stream: string,
    receivedId: string,
    { metadata, userId }: IdempotentRequest,
    carryOut: () => Promise<StoredAnswer | undefined>,
  ): Promise<StoredAnswer | undefined> {
    let carriedOut: StoredAnswer | undefined;
    try {
      carriedOut = await carryOut();
      return carriedOut;
    } finally {
      const sealedAnswer = carriedOut ? await this.seal(stream, userId, carriedOut) : null;
      await this.transactor.transact({
        stream,
        fold: requestFold,
        metadata,
        keep: keptForRepeats,
        // If another process has taken over, its answer is the one that is repeated.
        decide: (entry): RequestEvent[] =>
          entry?.receivedId === receivedId && entry.sealedAnswer === undefined
            ? [{ type: 'RequestAnswered', data: { sealedAnswer } }]
            : [],
      });
    }
  }

  /** Seals the answer to a user with the user's key as well, so that erasing the user destroys it. */
  private async seal(stream: string, userId: string | undefined, given: StoredAnswer): Promise<string | null> {
    const text = sealText(this.key, stream, JSON.stringify(given));
    if (!this.personalData || userId === undefined) return text;
    try {
      const { enc, kid } = await this.personalData.sealText(userId, text);
      return `${enc}.${kid}`;
    } catch (error) {
      // The user was erased, perhaps by this request.
      if (error instanceof Refusal && error.code === 'user_erased') return null;
      throw error;
    }
  }

  private async open(stream: string, sealedAnswer: string): Promise<string> {
    const [enc = '', ...kid] = sealedAnswer.split('.');
    if (kid.length === 0) return openText(this.key, stream, sealedAnswer);
    const text = await this.personalData?.openText({ enc, kid: kid.join('.') });
    if (typeof text !== 'string') throw new Refusal('user_erased', 'this user was erased');
    return openText(this.key, stream, text);
  }

  private async repeat(stream: string, sealedAnswer: string): Promise<StoredAnswer> {
    const stored = answer.parse(JSON.parse(await this.open(stream, sealedAnswer)));
    if (stored.sessionId !== undefined && (await hasEndedInStream(this.transactor.store, stored.sessionId))) {
      throw new Refusal('session_revoked', 'the session that this login began has ended; sign in again');
    }
    return stored;
  }
}
