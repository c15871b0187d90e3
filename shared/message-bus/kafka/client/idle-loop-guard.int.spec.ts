import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import { eventually } from '../../../testing/eventually.ts';
import { whereServer } from '../../../testing/engines/servers.ts';
import { guardIdleLoops } from './idle-loop-guard.kafka.ts';

/** A client that sets timers while it is idle does so every millisecond. */
const WATCHED_MS = 300;

/** Loads kafkajs once more: the guard stays in what this process has loaded, and other specs may have set it. */
const unguarded = (): typeof kafkajs => {
  const require = createRequire(import.meta.url);
  const loaded = Object.keys(require.cache).filter((path) => path.includes('/node_modules/kafkajs/'));
  const kept = loaded.map((path) => [path, require.cache[path]] as const);
  for (const path of loaded) Reflect.deleteProperty(require.cache, path);
  try {
    return require('kafkajs') as typeof kafkajs;
  } finally {
    Object.assign(require.cache, Object.fromEntries(kept));
  }
};

whereServer('KAFKA_BROKERS', (brokers) => {
  describe('idle connections of kafkajs', () => {
    /** Counts the timers that a connected client sets while it is idle, and collects warnings of Node. */
    const watchIdling = async (
      { Kafka, logLevel }: typeof kafkajs,
      isSeen: (timers: number, forMs: number) => boolean,
    ) => {
      const ours = new AsyncLocalStorage<boolean>();
      const admin = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
      await ours.run(true, async () => {
        await admin.connect();
        await admin.describeCluster();
      });
      const setTimer = globalThis.setTimeout;
      const warnings: string[] = [];
      const onWarning = ({ name }: Error) => warnings.push(name);
      process.on('warning', onWarning);
      let timers = 0;
      globalThis.setTimeout = Object.assign((...args: Parameters<typeof setTimer>) => {
        if (ours.getStore()) timers += 1;
        return setTimer(...args);
      }, setTimer);
      const from = performance.now();
      await eventually(() => isSeen(timers, performance.now() - from), 20_000, 'it must set timers');
      globalThis.setTimeout = setTimer;
      process.off('warning', onWarning);
      await admin.disconnect();
      return { timers, warnings };
    };

    it('set timers all the time without the guard, and none with it', async () => {
      expect((await watchIdling(unguarded(), (timers) => timers > 30)).timers).toBeGreaterThan(30);
      guardIdleLoops();
      guardIdleLoops();
      expect(await watchIdling(kafkajs, (_, forMs) => forMs > WATCHED_MS)).toEqual({ timers: 0, warnings: [] });
    });
  });
});
