import { describe, it } from '@jest/globals';

/**
 * `TEST_SERVERS`: a folder with the programs `up` and `down` of servers that a test may stop. docs/testing.md
 * describes them.
 */
type ServerSetting = 'EVENTSTORE_URL' | 'KAFKA_BROKERS' | 'MONGO_URL' | 'TEST_SERVERS';

/** Defines specs that need a running server, if there is one. `npm test` looks for it, and reports if it is missing. */
export const whereServer = (setting: ServerSetting, define: (value: string) => void): void => {
  const value = process.env[setting];
  if (value) define(value);
  else {
    describe(`with ${setting}`, () => {
      const otherwise = setting === 'TEST_SERVERS' ? '' : ', or have a container engine running';
      it.skip(`needs a server: set ${setting}${otherwise}`, () => undefined);
    });
  }
};
