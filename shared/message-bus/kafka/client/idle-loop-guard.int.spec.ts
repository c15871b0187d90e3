import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import { whereServer } from '../../../testing/engines/servers.ts';
import { guardIdleLoops } from './idle-loop-guard.kafka.ts';

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
    /** Counts timers that kafkajs sets, not those of others in this process, and collects warnings of Node, while a connected client is idle. */
    const watchIdling = async ({ Kafka, logLevel }: typeof kafkajs) => {
      const admin = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      await admin.describeCluster();
      const setTimer = globalThis.setTimeout;
      const warnings: string[] = [];
      const onWarning = ({ name }: Error) => warnings.push(name);
      process.on('warning', onWarning);
      let timers = 0;
      globalThis.setTimeout = Object.assign((...args: Parameters<typeof setTimer>) => {
        if (new Error().stack?.includes('/node_modules/kafkajs/')) timers += 1;
        return setTimer(...args);
      }, setTimer);
      await new Promise((resolve) => setTimer(resolve, WATCHED_MS));
      globalThis.setTimeout = setTimer;
      process.off('warning', onWarning);
      await admin.disconnect();
      return { timers, warnings };
    };

    it('set timers all the time without the guard, and none with it', async () => {
      expect((await watchIdling(unguarded())).timers).toBeGreaterThan(WATCHED_MS / 10);
      guardIdleLoops();
      guardIdleLoops();
      expect(await watchIdling(kafkajs)).toEqual({ timers: 0, warnings: [] });
    });
  });
});
