import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { anEvent, someMetadata } from '../testing/event-builder.ts';
import { eventually } from '../testing/eventually.ts';
import {
  WrongExpectedRevision,
  type EventBatch,
  type EventFilter,
  type EventStore,
  type StoredEvent,
} from './event-store.ts';

/** How long some events of the contract are kept. `pass` moves the clock of the store past that time; omitted for a real server. */
interface KeptFor {
  seconds: number;
  pass?: () => void;
}

/** Defines what every adapter of the port must do. The store may already hold other events. */
export const eventStoreContract = (name: string, open: () => Promise<EventStore>, keptFor: KeptFor): void => {
  describe(`event store on ${name}`, () => {
    let store: EventStore;
    const aStream = () => `test-${randomUUID()}`;
    const told = (events: readonly StoredEvent[]) =>
      events.map(({ id, revision, position, dataText }) => ({ id, revision, position, dataText }));
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());

    it('returns the appended events complete and in order', async () => {
      const stream = aStream();
      const events = [
        anEvent({ data: { text: 'ünï\u0000', big: '1'.repeat(78) } }),
        anEvent({ type: 'Other', time: 5 }),
      ];
      const appended = await store.append(stream, -1, events);
      const read = await store.read(stream);
      expect(read.map(({ id, type, data, time, revision }) => ({ id, type, data, time, revision }))).toEqual(
        events.map(({ id, type, data, time }, revision) => ({ id, type, data, time, revision })),
      );
      expect(read[1]).toMatchObject({ stream, schemaVersion: 1, metadata: someMetadata, position: appended.position });
      expect(JSON.parse(read[0]?.dataText ?? '')).toEqual(events[0]?.data);
      expect(appended.revision).toBe(1);
    });

    it('returns the data of a former version in the form of the newest, and as it was stored beside it', async () => {
      const stream = aStream();
      const data = { appId: 'app_1' };
      const { position } = await store.append(stream, -1, [anEvent({ type: 'AppRegistered', data })]);
      for (const [event] of [await store.read(stream), (await store.readAll(position - 1, undefined, 1)).events]) {
        expect(event).toMatchObject({ schemaVersion: 1, data: { appId: 'app_1', isThirdParty: false } });
        expect(JSON.parse(event?.dataText ?? '')).toEqual(data);
      }
    });

    it('returns no events for a stream that does not exist', async () => {
      expect(await store.read(aStream())).toEqual([]);
    });

    it('reads a part of a stream, forwards and backwards', async () => {
      const stream = aStream();
      await store.append(stream, -1, [anEvent(), anEvent(), anEvent(), anEvent()]);
      const revisions = async (options: Parameters<EventStore['read']>[1]) =>
        (await store.read(stream, options)).map(({ revision }) => revision);
      expect(await revisions({ from: 2 })).toEqual([2, 3]);
      expect(await revisions({ from: 1, limit: 2 })).toEqual([1, 2]);
      expect(await revisions({ direction: 'backwards', limit: 2 })).toEqual([3, 2]);
      expect(await revisions({ direction: 'backwards', from: 1 })).toEqual([1, 0]);
    });

    it('refuses an append at another revision, and writes none of its events', async () => {
      const stream = aStream();
      await store.append(stream, -1, [anEvent()]);
      for (const expected of [-1, 1, 7]) {
        await expect(store.append(stream, expected, [anEvent(), anEvent()])).rejects.toBeInstanceOf(
          WrongExpectedRevision,
        );
      }
      expect(await store.read(stream)).toHaveLength(1);
    });

    it('treats the same events at the same revision as the same append', async () => {
      const stream = aStream();
      const events = [anEvent(), anEvent()];
      const first = await store.append(stream, -1, events);
      await store.append(stream, 1, [anEvent()]);
      expect(await store.append(stream, -1, events)).toEqual(first);
      expect(await store.read(stream)).toHaveLength(3);
    });

    it('lets one of many simultaneous appends win', async () => {
      const stream = aStream();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, () => store.append(stream, -1, [anEvent()])),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await store.read(stream)).toHaveLength(1);
    });

    it('orders all events of all streams by position, and filters them by type', async () => {
      const [left, right, from] = [aStream(), aStream(), await store.head()];
      await store.append(left, -1, [anEvent({ type: 'Wanted' })]);
      await store.append(right, -1, [anEvent({ type: 'Unwanted' }), anEvent({ type: 'Wanted' })]);
      const { position } = await store.append(left, 0, [anEvent({ type: 'Unwanted' })]);
      const all = await store.readAll(from, undefined, 100);
      expect(all.events.map(({ stream, revision }) => [stream, revision])).toEqual([
        [left, 0],
        [right, 0],
        [right, 1],
        [left, 1],
      ]);
      expect(all.events.every((event, at) => at === 0 || event.position > (all.events[at - 1]?.position ?? 0))).toBe(
        true,
      );
      expect(all).toMatchObject({ caughtUp: true, position });
      const wanted = await store.readAll(from, { types: ['Wanted'] }, 100);
      expect(wanted.events.map(({ stream }) => stream)).toEqual([left, right]);
      expect(wanted.position).toBe(position);
    });

    it('reports the position at which a limited batch ends', async () => {
      const from = await store.head();
      await store.append(aStream(), -1, [anEvent(), anEvent(), anEvent()]);
      const first = await store.readAll(from, undefined, 2);
      expect(first).toMatchObject({ caughtUp: false, position: first.events[1]?.position });
      const second = await store.readAll(first.position, undefined, 2);
      expect(second.events).toHaveLength(1);
      expect(second.caughtUp).toBe(true);
    });

    it('reads on from just before any event', async () => {
      const from = await store.head();
      await store.append(aStream(), -1, [anEvent()]);
      await store.append(aStream(), -1, [anEvent(), anEvent(), anEvent()]);
      const { events } = await store.readAll(from, undefined, 10);
      expect(events).toHaveLength(4);
      for (const { id, position } of events) {
        expect((await store.readAll(position - 1, undefined, 1)).events.map((event) => event.id)).toEqual([id]);
      }
    });

    it('reads any part of many events that were appended together', async () => {
      const [stream, from] = [aStream(), await store.head()];
      const others = { ...someMetadata, correlationId: 'another' };
      const events = Array.from({ length: 1_203 }, (_, at) => ({
        ...anEvent({ type: at % 300 < 290 ? 'Many' : 'Few', time: 1_000 + at, data: { at, text: 'line\nbreak' } }),
        metadata: at % 3 === 0 ? others : someMetadata,
      }));
      await store.append(stream, -1, events.slice(0, 5));
      const { position, revision } = await store.append(stream, 4, events.slice(5));
      expect(revision).toBe(1_202);
      const read = await store.read(stream);
      expect(read.map(({ id, type, time, data, metadata }) => ({ id, type, time, data, metadata }))).toEqual(
        events.map(({ id, type, time, data, metadata }) => ({ id, type, time, data, metadata })),
      );
      expect(read.map((event) => event.revision)).toEqual(events.map((_, at) => at));
      expect(read.at(-1)?.position).toBe(position);
      for (const first of [0, 4, 5, 6, 290, 504, 505, 506, 777, 1_202, 1_203]) {
        for (const limit of [1, 10, 600]) {
          expect(told(await store.read(stream, { from: first, limit }))).toEqual(
            told(read.slice(first, first + limit)),
          );
          const back = await store.read(stream, { from: first, limit, direction: 'backwards' });
          const until = Math.min(first + 1, read.length);
          expect(told(back)).toEqual(told(read.slice(Math.max(0, until - limit), until).toReversed()));
        }
      }
      const newest = await store.read(stream, { limit: 2, direction: 'backwards' });
      expect(told(newest)).toEqual(told(read.slice(-2).toReversed()));
      for (const types of [undefined, ['Many'], ['Few'], ['Few', 'Many']]) {
        for (const limit of [7, 100, 1_000]) {
          const found: StoredEvent[] = [];
          for (let after = from; ;) {
            const batch = await store.readAll(after, types && { types }, limit);
            expect(batch.events.length).toBeLessThanOrEqual(limit);
            found.push(...batch.events);
            if (batch.caughtUp) break;
            expect(batch.position).toBe(batch.events.at(-1)?.position);
            after = batch.position;
          }
          const wanted = read.filter(({ type }) => types === undefined || types.includes(type));
          expect(told(found)).toEqual(told(wanted));
        }
      }
    });

    it('treats many of the same events at the same revision as the same append, also some of them', async () => {
      const stream = aStream();
      const events = Array.from({ length: 40 }, () => anEvent());
      const appended = await store.append(stream, -1, events);
      await store.append(stream, 39, [anEvent()]);
      expect(await store.append(stream, -1, events)).toEqual(appended);
      expect(await store.append(stream, 19, events.slice(20))).toEqual(appended);
      await expect(store.append(stream, 19, [...events.slice(20, 39), anEvent()])).rejects.toThrow(
        WrongExpectedRevision,
      );
      expect(await store.read(stream)).toHaveLength(41);
    });

    it('names the newest event of a stream that is never forgotten, whatever the filter', async () => {
      const [stream, from] = [aStream(), await store.head()];
      await store.append(stream, -1, [anEvent(), anEvent({ type: 'Wanted' }), anEvent()]);
      const [first, second, third] = (await store.read(stream)).map(({ id, revision, position }) => ({
        id,
        stream,
        revision,
        position,
      }));
      await store.append(`request-${randomUUID()}`, -1, [anEvent()]);
      const { position } = await store.append(`challenge-${randomUUID()}`, -1, [anEvent({ type: 'Wanted' })]);
      expect((await store.readAll(from, undefined, 1)).newestPermanent).toEqual(first);
      expect((await store.readAll(from, undefined, 2)).newestPermanent).toEqual(second);
      for (const filter of [undefined, { types: ['Wanted'] }, { types: ['Other'] }]) {
        expect((await store.readAll(from, filter, 100)).newestPermanent).toEqual(third);
        const stop = new AbortController();
        for await (const batch of store.subscribeAll(from, filter, stop.signal)) {
          if (!batch.caughtUp || batch.position < position) continue;
          expect(batch.newestPermanent).toEqual(third);
          stop.abort();
        }
      }
    });

    it('ends a batch at some MiB', async () => {
      const [stream, from] = [aStream(), await store.head()];
      const data = { text: 'x'.repeat(150_000) };
      for (let at = 0; at < 100; at += 3) {
        await store.append(stream, at - 1, [anEvent({ data }), anEvent({ data }), anEvent({ data })]);
      }
      const sizeOf = ({ events }: EventBatch) => events.reduce((sum, { dataText }) => sum + dataText.length, 0);
      const first = await store.readAll(from, undefined, 1_000);
      expect(sizeOf(first)).toBeLessThan(12_000_000);
      expect(first.caughtUp).toBe(false);
      expect(first.position).toBe(first.events.at(-1)?.position);
      const stop = new AbortController();
      let given = 0;
      for await (const batch of store.subscribeAll(from, { types: ['Happened'] }, stop.signal)) {
        expect(sizeOf(batch)).toBeLessThan(12_000_000);
        given += batch.events.length;
        if (given >= 102) stop.abort();
      }
      expect(given).toBe(102);
    });

    it('gives a subscriber the stored events, then caught up, then new events, each event once', async () => {
      const stop = new AbortController();
      const stream = aStream();
      const from = await store.head();
      await store.append(stream, -1, [anEvent({ type: 'Wanted' }), anEvent({ type: 'Unwanted' })]);
      const batches: EventBatch[] = [];
      let more = true;
      for await (const batch of store.subscribeAll(from, { types: ['Wanted'] }, stop.signal)) {
        batches.push(batch);
        const seen = batches.flatMap(({ events }) => events).length;
        if (more && seen === 1 && batch.caughtUp) {
          more = false;
          void store.append(stream, 1, [anEvent({ type: 'Unwanted' })]);
          void store.append(stream, 2, [anEvent({ type: 'Wanted' })]);
        }
        if (seen === 2) stop.abort();
      }
      expect(batches.flatMap(({ events }) => events).map(({ revision }) => revision)).toEqual([0, 3]);
    });

    it('resumes where any batch ended, with a filter and without', async () => {
      const [stream, from] = [aStream(), await store.head()];
      const types = ['Wanted', 'Unwanted', 'Unwanted', 'Wanted', 'Wanted', 'Unwanted'];
      for (const [index, type] of types.entries()) await store.append(stream, index - 1, [anEvent({ type })]);
      for (const filter of [undefined, { types: ['Wanted'] }]) {
        const wanted = types.flatMap((type, index) => (!filter || type === 'Wanted' ? index : []));
        const read = await subscribed(store, { from, filter, revisionsMin: wanted.length });
        for (const { position, given } of [{ position: from, given: 0 }, ...read]) {
          const rest = wanted.slice(given);
          const again = await subscribed(store, { from: position, filter, revisionsMin: rest.length });
          expect(again.at(-1)?.revisions).toEqual(rest);
          const { events } = await store.readAll(position, filter, 100);
          expect(events.map(({ revision }) => revision)).toEqual(rest);
        }
      }
    });

    it('reports how far a subscription has come, also past events that its filter leaves out', async () => {
      const stop = new AbortController();
      let wanted = Infinity;
      for await (const batch of store.subscribeAll(await store.head(), { types: ['Wanted'] }, stop.signal)) {
        expect(batch.events).toEqual([]);
        if (batch.position >= wanted) stop.abort();
        else if (batch.caughtUp && wanted === Infinity) {
          wanted = (await store.append(aStream(), -1, [anEvent({ type: 'Unwanted' })])).position;
        }
      }
      expect(stop.signal.aborted).toBe(true);
    });

    it('ends a waiting subscription when it is aborted', async () => {
      const stop = new AbortController();
      for await (const { caughtUp } of store.subscribeAll(await store.head(), undefined, stop.signal)) {
        if (caughtUp) setImmediate(() => stop.abort());
      }
      expect(stop.signal.aborted).toBe(true);
    });

    it('keeps only the newest events of a stream with a limit', async () => {
      const stream = aStream();
      await store.keepNewest(stream, 1);
      await store.append(stream, -1, [anEvent()]);
      await store.append(stream, 0, [anEvent({ data: { newest: true } })]);
      const kept = await store.read(stream);
      expect(kept.map(({ revision, data }) => ({ revision, data }))).toEqual([{ revision: 1, data: { newest: true } }]);
      await store.append(stream, 1, [anEvent()]);
      expect(await store.read(stream)).toHaveLength(1);
    });

    it('keeps only the newest events of a stream whose appends say so', async () => {
      const [stream, keep] = [aStream(), { newest: 2 }];
      for (let revision = 0; revision < 5; revision += 1) {
        await store.append(stream, revision - 1, [anEvent()], keep);
      }
      expect((await store.read(stream)).map(({ revision }) => revision)).toEqual([3, 4]);
    });

    it('forgets the events of a stream whose appends say for how long, and goes on at the revision that it names', async () => {
      const [stream, keep] = [aStream(), { seconds: keptFor.seconds }];
      await store.append(stream, -1, [anEvent(), anEvent()], keep);
      expect(await store.read(stream)).toHaveLength(2);
      await store.append(aStream(), -1, [anEvent()]);
      keptFor.pass?.();
      const isForgotten = async () => (await store.read(stream)).length === 0;
      await eventually(isForgotten, 10_000, 'the events must be forgotten');
      expect(await store.read(stream, { direction: 'backwards', limit: 1 })).toEqual([]);
      const conflict: unknown = await store.append(stream, 5, [anEvent()], keep).catch((error: unknown) => error);
      if (!(conflict instanceof WrongExpectedRevision)) throw new Error('the revision must be refused');
      const again = anEvent();
      const { revision } = await store.append(stream, conflict.actual, [again], keep);
      expect(revision).toBe(conflict.actual + 1);
      expect((await store.read(stream)).map(({ id }) => id)).toEqual([again.id]);
    });

    it('keeps all other events, and their positions, when some are forgotten', async () => {
      const [kept, forgotten, from] = [aStream(), aStream(), await store.head()];
      await store.append(kept, -1, [anEvent()]);
      await store.append(forgotten, -1, [anEvent()], { seconds: keptFor.seconds });
      const head = await store.head();
      const isForgotten = async () => (await store.read(forgotten)).length === 0;
      await store.append(kept, 0, [anEvent()]);
      keptFor.pass?.();
      await eventually(isForgotten, 10_000, 'the event must be forgotten');
      expect(await store.head()).toBeGreaterThan(head);
      const { position } = await store.append(kept, 1, [anEvent()]);
      expect(position).toBeGreaterThan(head);
      const { events } = await store.readAll(from, undefined, 100);
      expect(events.filter(({ stream }) => stream === kept).map(({ revision }) => revision)).toEqual([0, 1, 2]);
    });
  });
};

/** Returns the batches of a subscription, up to the one that is caught up with that many events. */
const subscribed = async (
  store: EventStore,
  { from, filter, revisionsMin }: { from: number; filter: EventFilter | undefined; revisionsMin: number },
): Promise<{ position: number; given: number; revisions: number[] }[]> => {
  const stop = new AbortController();
  const revisions: number[] = [];
  const batches: { position: number; given: number; revisions: number[] }[] = [];
  for await (const { events, position, caughtUp } of store.subscribeAll(from, filter, stop.signal)) {
    revisions.push(...events.map(({ revision }) => revision));
    batches.push({ position, given: revisions.length, revisions });
    if (caughtUp && revisions.length >= revisionsMin) stop.abort();
  }
  return batches;
};
