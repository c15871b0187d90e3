import { pino } from 'pino';
import { EsdbEventStore } from '../../event-store/eventstoredb/event-store.esdb.ts';

/** No answer is too late for a spec, however slow the machine is. */
const ANSWER_MS = 3_600_000;

/** Connects to a server that runs, as a program does, but without limits of time unless a spec is about them. */
export const connectForTests = (
  url: string,
  { answerMs = ANSWER_MS, startMs = ANSWER_MS }: { answerMs?: number; startMs?: number } = {},
): Promise<EsdbEventStore> =>
  EsdbEventStore.connect({
    settings: { EVENTSTORE_URL: url },
    logger: pino({ level: 'silent' }),
    answerMs,
    startMs,
    socketMs: ANSWER_MS,
  });
