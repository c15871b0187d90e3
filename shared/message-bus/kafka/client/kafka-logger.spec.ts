import { describe, expect, it } from '@jest/globals';
import kafkajs, { type logLevel } from 'kafkajs';
import { pino } from 'pino';
import { kafkaLogCreator } from './kafka-logger.kafka.ts';

describe('the log of kafkajs', () => {
  const logged = (messages: [level: logLevel, message: string, error?: string][]) => {
    const lines: { level: number; msg: string }[] = [];
    const logger = pino(
      { level: 'trace' },
      { write: (line: string) => lines.push(JSON.parse(line) as (typeof lines)[0]) },
    );
    const log = kafkaLogCreator(logger)(kafkajs.logLevel.INFO);
    for (const [level, message, error] of messages) {
      log({ namespace: 'Connection', level, label: '', log: { timestamp: '', message, error, stack: 'at …' } });
    }
    return lines.map(({ level, msg }) => [pino.levels.labels[level], msg]);
  };
  const { ERROR, WARN, INFO } = kafkajs.logLevel;

  it('warns once of a repeated error', () => {
    expect(
      logged([
        [ERROR, 'Connection error: connect ECONNREFUSED'],
        [ERROR, 'Connection error: connect ECONNREFUSED'],
      ]),
    ).toEqual([
      ['warn', 'kafka: Connection error: connect ECONNREFUSED'],
      ['debug', 'kafka: Connection error: connect ECONNREFUSED'],
    ]);
  });

  it('logs at debug level that a coordinator is loading, and everything that is not an error', () => {
    const levels = logged([
      [ERROR, 'The group coordinator is not available'],
      [ERROR, 'The coordinator is loading and hence can’t process requests for this group'],
      [ERROR, 'Response ListOffsets(key: 2, version: 3)', 'This server is not the leader for that topic-partition'],
      [WARN, 'Limiting retries for the idempotent producer may invalidate EoS guarantees'],
      [INFO, 'Consumer has joined the group'],
    ]).map(([level]) => level);
    expect(levels).toEqual(['debug', 'debug', 'debug', 'debug', 'debug']);
  });
});
