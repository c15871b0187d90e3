import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import kafkajs, { type Kafka, type KafkaConfig, type SASLOptions } from 'kafkajs';
import type { KafkaSasl, Settings } from '../config/settings.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import type { Logger } from 'pino';
import { inTime } from '../primitives/in-time.ts';
import { guardAnswers } from './answer-guard.kafka.ts';
import { registerCodecs } from './compression-codecs.kafka.ts';
import { Connections } from './connections.kafka.ts';
import { guardIdleLoops } from './idle-loop-guard.kafka.ts';
import { kafkaLogCreator } from './kafka-logger.kafka.ts';

export type KafkaSettings = Pick<Settings, 'KAFKA_SASL' | 'KAFKA_TLS'> & { KAFKA_BROKERS: string[] };

/** One kafkajs client and its connections: whatever may have to be given up alone has one of its own. */
export interface KafkaClient {
  kafka: Kafka;
  connections: Connections;
}

const DISCONNECT_MS = 1_500;

/**
 * How kafkajs itself tries again: about two seconds in all, then whoever asked decides. All of it is said here, because
 * kafkajs has other defaults where NODE_ENV is `test`.
 */
const RETRY = { initialRetryTime: 100, multiplier: 2, factor: 0.2, maxRetryTime: 1_000, retries: 4 };

/** @returns what makes clients that share these settings */
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
    const connections = new Connections(tls);
    return { kafka: new kafkajs.Kafka({ ...config, socketFactory: connections.open }), connections };
  };
};

/** Says goodbye to the brokers; when that takes long or fails, cuts the connections. */
export const letGo = async (client: KafkaClient, disconnect: () => Promise<unknown>): Promise<void> => {
  const isGone = await inTime(async () => {
    await disconnect();
    return true;
  }, DISCONNECT_MS);
  if (!isGone) client.connections.cut();
};

const tlsOf = (setting: string | undefined): ConnectionOptions | undefined => {
  if (setting === undefined) return undefined;
  if (setting === 'true') return {};
  try {
    const ca = readFileSync(setting);
    new X509Certificate(ca);
    return { ca };
  } catch (cause) {
    throw new CannotStart(`KAFKA_TLS: ${setting} is no file with certificates`, { cause });
  }
};

/** kafkajs types each mechanism apart. */
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
