import { pino } from 'pino';
import { collections } from '../read-models/catalogue.ts';
import { loadSettings } from '../config/load-settings.ts';
import { MemoryEventStore } from './engines/event-store.memory.ts';
import type { Foundation, WithKeyVault } from '../host/foundation.ts';
import { MemoryKeyVault } from './engines/key-vault.memory.ts';
import { makeVault } from '../key-vault/own-vault.ts';
import { ProcessHealth } from '../host/health/process-health.ts';
import { systemClock, type Clock } from '../primitives/clock.ts';
import { systemIds } from '../primitives/ids.ts';
import { FREE_PORTS } from './processes/whole-program.ts';
import { MemoryReadStore } from './engines/read-store.memory.ts';

/** A clock that changes only when it is set: time passes as far as `time` is moved. */
export class TestClock implements Clock {
  private jumpedMs = 0;

  constructor(public time = Date.parse('2026-01-02T03:04:05.678Z')) {}

  now(): number {
    return this.time;
  }

  elapsed(): number {
    return this.time - this.jumpedMs;
  }

  /** Sets the clock of the machine, while no time passes. */
  jump(ms: number): void {
    this.time += ms;
    this.jumpedMs += ms;
  }
}

export interface TestFoundation extends Foundation, WithKeyVault {
  keyVault: MemoryKeyVault;
  eventStore: MemoryEventStore;
  readStore: MemoryReadStore;
  /** The parsed log lines. */
  logged: Record<string, unknown>[];
}

/** Longer than any answer takes on a busy machine, and less than the 30 s after which an idle connection is cut. */
const ANSWER_WITHIN_MS = 25_000;

/**
 * Builds a foundation in memory. Settings are the defaults, except for free ports and those given as environment variables; a
 * busy machine gets more time to answer than the interface allows.
 */
export const testFoundation = async ({
  environment = {},
  clock = systemClock,
  answerWithinMs = ANSWER_WITHIN_MS,
}: {
  environment?: Record<string, string>;
  clock?: Clock;
  answerWithinMs?: number | undefined;
} = {}): Promise<TestFoundation> => {
  const readStore = new MemoryReadStore();
  await readStore.define(collections);
  const logged: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'info', base: null },
    { write: (line: string) => logged.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const masterKey = Buffer.alloc(32, 7);
  const keyVault = new MemoryKeyVault();
  await makeVault({ keyVault, masterKey, clock, ids: systemIds });
  return {
    settings: loadSettings({ ...FREE_PORTS, ...environment }).settings,
    logger,
    logged,
    clock,
    answerWithinMs,
    processHealth: new ProcessHealth(),
    ids: systemIds,
    masterKey,
    edgeKey: masterKey,
    eventStore: new MemoryEventStore(clock),
    readStore,
    keyVault,
  };
};
