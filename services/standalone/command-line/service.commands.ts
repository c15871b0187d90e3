import { Command } from 'commander';
import type { ServiceName } from '../../../shared/config/services.ts';
import { settingDefinitions, type SettingName } from '../../../shared/config/settings.ts';

interface ServiceCommand {
  name: ServiceName;
  description: string;
  settings: readonly SettingName[];
  examples: readonly string[];
  /** Imports the service only when it is run, because each loads its own libraries. */
  run: () => Promise<unknown>;
}

/** Settings that every service reads. */
const common = [
  ...(['EVENTSTORE_URL', 'MONGO_URL', 'MONGO_DATABASE', 'DATA_DIR'] as const),
  ...(['NODE_ENV', 'HOST', 'METRICS_PORT', 'LOG_LEVEL', 'STOP_SECONDS'] as const),
];
const bus = ['KAFKA_BROKERS', 'KAFKA_SASL', 'KAFKA_TLS', 'TOPIC_PREFIX', 'TOPIC_PARTITIONS'] as const;
/** Settings of services that answer HTTP requests. */
const httpSettings = ['MASTER_KEY', 'EDGE_KEY', 'TRUSTED_PROXIES', 'RATE_LIMITS'] as const;
/** Settings of services that also serve an API document. */
const documented = [...httpSettings, 'DOCS'] as const;
/** Settings of the channels that deliver one-time passwords. */
const channels = [
  ...(['SMTP_URL', 'MAIL_FROM'] as const),
  ...(['MESSENGER_API_URL', 'MESSENGER_BOT_TOKEN', 'MESSENGER_BOT_NAME', 'MESSENGER_WEBHOOK_SECRET'] as const),
];
/** Settings of the OAuth providers. */
const providers = ['OAUTH_A', 'OAUTH_B', 'OAUTH_C'] as const;
/** Settings that locate the account service and its public keys. */
const issuer = ['ACCOUNT_URL', 'ACCOUNT_JWKS_URL', 'ACCOUNT_PORT'] as const;

const services: readonly ServiceCommand[] = [
  {
    name: 'account',
    description: 'signs users in and keeps their sessions and profiles',
    settings: [
      ...(['ACCOUNT_PORT', 'ACCOUNT_URL', 'CHAINS', 'BUNDLER', 'RPC_DEBUG', 'LOG_WITNESSES'] as const),
      ...[...providers, ...channels, ...documented, ...common],
    ],
    examples: [
      'annals account',
      'EVENTSTORE_URL=esdb://127.0.0.1:2113?tls=false MONGO_URL=mongodb://127.0.0.1:27017 annals account',
    ],
    run: () => import('../../account/main.ts'),
  },
  {
    name: 'bundler',
    description:
      'sends the operations of smart accounts to the chains; of several processes, one works on a chain and the others stand by',
    settings: ['CHAINS', 'RPC_DEBUG', 'MASTER_KEY', ...common],
    examples: ['METRICS_PORT=9469 annals bundler', 'BUNDLER=off annals account'],
    run: () => import('../../onchain/main.ts'),
  },
  {
    name: 'event-catcher',
    description:
      'follows chains and answers queries of their events; several processes divide the chains among themselves',
    settings: ['CHAINS', 'EVENT_CATCHER_PORT', 'EVENT_URL', 'QUOTAS', ...issuer, ...documented, ...common],
    examples: [
      `METRICS_PORT=9465 CHAINS='[{"chainId":2484,"rpcUrls":["http://127.0.0.1:8545"]}]' annals event-catcher`,
    ],
    run: () => import('../../event-catcher/main.ts'),
  },
  {
    name: 'relay',
    description: 'publishes stored events on the message bus; of several processes, one works and the others stand by',
    settings: ['MASTER_KEY', 'EDGE_KEY', ...bus, 'KAFKA_ACKS', 'KAFKA_COMPRESSION', ...common],
    examples: ['METRICS_PORT=9466 annals relay', 'METRICS_PORT=9466 KAFKA_BROKERS=127.0.0.1:9092 annals relay'],
    run: () => import('../../relay/main.ts'),
  },
  {
    name: 'projector',
    description:
      'keeps the read models up to date with the event store; several processes divide the read models among themselves',
    settings: ['SEAL_SECONDS', 'VERIFY_SECONDS', 'MASTER_KEY', ...common],
    examples: ['METRICS_PORT=9467 annals projector'],
    run: () => import('../../projector/main.ts'),
  },
  {
    name: 'stream',
    description:
      'streams the records of the event catcher to subscribers, over Socket.IO and plain HTTP; any number may run',
    settings: [
      'STREAM_PORT',
      'STREAM_URL',
      'EVENT_URL',
      'EVENT_CATCHER_PORT',
      ...issuer,
      ...httpSettings,
      ...bus,
      ...common,
    ],
    examples: ['METRICS_PORT=9468 annals stream'],
    run: () => import('../../stream/main.ts'),
  },
];

/** One command for each service as a process of its own. */
export const serviceCommands = (): Command[] =>
  services.map(({ name, description, settings, examples, run }) =>
    new Command(name)
      .description(description)
      .addHelpText(
        'after',
        `\nSettings, from the environment, else from the file that ANNALS_ENV_FILE names:\n${settings.map(toLine).join('')}\nExamples:\n  ${examples.join('\n  ')}`,
      )
      .action(async () => {
        await run();
      }),
  );

const toLine = (name: SettingName): string => `  ${name.padEnd(18)} ${settingDefinitions[name].meaning}\n`;
