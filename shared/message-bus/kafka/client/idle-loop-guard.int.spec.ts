import { describe, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import { whereServer } from '../testing/servers.ts';
import { guardIdleLoops } from './idle-loop-guard.kafka.ts';

const WATCHED_MS = 300;

whereServer('KAFKA_BROKERS', (brokers) => {
  describe('idle connections of kafkajs', () => {
    /** Counts timers that are set, and collects warnings of Node, while a connected client is idle. */
    const watchIdling = async () => {
      const admin = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: kafkajs.logLevel.NOTHING }).admin();
      await admin.connect();
      await admin.describeCluster();
      const setTimer = globalThis.setTimeout;
      const warnings: string[] = [];
      const onWarning = ({ name }: Error) => warnings.push(name);
      process.on('warning', onWarning);
      let timers = 0;
      globalThis.setTimeout = Object.assign((...args: Parameters<typeof setTimer>) => {
        timers += 1;
        return setTimer(...args);
      }, setTimer);
      await new Promise((resolve) => setTimer(resolve, WATCHED_MS));
      globalThis.setTimeout = setTimer;
      process.off('warning', onWarning);
      await admin.disconnect();
      return { timers, warnings };
    };

    it('set timers all the time without the guard, and none with it', async () => {
      expect((await watchIdling()).timers).toBeGreaterThan(WATCHED_MS / 10);
      guardIdleLoops();
      guardIdleLoops();
      expect(await watchIdling()).toEqual({ timers: 0, warnings: [] });
    });
  });
});
