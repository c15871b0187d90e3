import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import kafkajs, { type Kafka, type KafkaConfig, type SASLOptions } from 'kafkajs';
import type { KafkaSasl, Settings } from '../../../config/settings.ts';
import { CannotStart } from '../../../errors/cannot-start.ts';
import type { Logger } from 'pino';
import { inTime } from '../../../primitives/waiting/in-time.ts';
import { guardAnswers } from './answer-guard.kafka.ts';
import { registerCodecs } from './compression-codecs.kafka.ts';
import { ClientSockets } from './client-sockets.kafka.ts';
import { guardIdleLoops } from './idle-loop-guard.kafka.ts';
import { kafkaLogCreator } from './kafka-logger.kafka.ts';

export type KafkaSettings = Pick<Settings, 'KAFKA_SASL' | 'KAFKA_TLS'> & { KAFKA_BROKERS: string[] };

/** One kafkajs client and its sockets. A part that may have to be closed separately has a client of its own. */
export interface KafkaClient {
  kafka: Kafka;
  sockets: ClientSockets;
}

const DISCONNECT_MS = 1_500;

/** The longest pause before a retry, plus the time of a retry that fails at once. */
const LAST_TRY_MS = 1_200;

/**
 * The retries of kafkajs itself take about two seconds in all; then the caller decides. All options are set, because
 * kafkajs has other defaults when NODE_ENV is `test`.
 */
const RETRY = { initialRetryTime: 100, multiplier: 2, factor: 0.2, maxRetryTime: 1_000, retries: 4 };

/** @returns a factory of clients that share these settings */
export const kafkaClients = (settings: KafkaSettings, logger: Logger): (() => KafkaClient) => {
  guardIdleLoops();
  guardAnswers();
  registerCodecs();
  const tls = tlsOf(settings.KAFKA_TLS);
  const config: KafkaConfig = {
    clientId: 'annals',
    brokers: settings.KAFKA_BROKERS,
    connectionTimeout: 3_000,
    authenticationTimeout: 3_000,
    requestTimeout: 10_000,
    retry: RETRY,
    logLevel: kafkajs.logLevel.INFO,
    logCreator: kafkaLogCreator(logger),
    ...(tls && { ssl: tls }),
    ...(settings.KAFKA_SASL && { sasl: saslOf(settings.KAFKA_SASL) }),
  };
  return () => {
    const sockets = new ClientSockets(tls);
    return { kafka: new kafkajs.Kafka({ ...config, socketFactory: sockets.open }), sockets };
  };
};

/**
 * Disconnects from the brokers. If that takes too long or fails, cuts the sockets and waits for the retry that kafkajs
 * has scheduled, which then fails: left alone, it would look for a coordinator after everything else has ended.
 */
export const disconnectOrCut = async ({ sockets }: KafkaClient, disconnect: () => Promise<unknown>): Promise<void> => {
  const leaving = disconnect().then(() => true);
  const isGone = await inTime(() => leaving, sockets.isAny ? DISCONNECT_MS : 0);
  if (isGone) return;
  sockets.cut();
  await inTime(() => leaving, LAST_TRY_MS);
};

const tlsOf = (setting: string | undefined): ConnectionOptions | undefined => {
  if (setting === undefined) return undefined;
  if (setting === 'true') return {};
  try {
    const ca = readFileSync(setting);
    new X509Certificate(ca);
    return { ca };
  } catch (cause) {
    throw new CannotStart(`KAFKA_TLS: ${setting} is not a file with certificates`, { cause });
  }
};

/** kafkajs has a separate type for each mechanism. */
const saslOf = ({ mechanism, username, password }: KafkaSasl): SASLOptions => {
  switch (mechanism) {
    case 'plain':
      return { mechanism, username, password };
    case 'scram-sha-256':
      return { mechanism, username, password };
    case 'scram-sha-512':
      return { mechanism, username, password };
  }
};
