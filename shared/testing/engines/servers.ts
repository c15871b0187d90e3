import { describe, it } from '@jest/globals';

/**
 * `TEST_SERVERS`: a folder with the programs `up` and `down` of servers that a test may stop. docs/testing.md
 * describes them. `GETH`: the program of a geth, which each spec starts for itself.
 */
type ServerSetting = 'EVENTSTORE_URL' | 'GETH' | 'KAFKA_BROKERS' | 'MONGO_URL' | 'TEST_SERVERS';
/** What no container engine starts. */
const SET_BY_HAND: readonly ServerSetting[] = ['GETH', 'TEST_SERVERS'];

/** Defines specs that need a running server, if there is one. `npm test` looks for it, and reports if it is missing. */
export const whereServer = (setting: ServerSetting, define: (value: string) => void): void => {
  const value = process.env[setting];
  if (value) define(value);
  else {
    describe(`with ${setting}`, () => {
      const otherwise = SET_BY_HAND.includes(setting) ? '' : ', or have a container engine running';
      it.skip(`needs a server: set ${setting}${otherwise}`, () => undefined);
    });
  }
};
