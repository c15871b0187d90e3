import { Command } from 'commander';
import { settingDefinitions, type SettingName } from '../../../shared/config/settings.ts';

interface ServiceCommand {
  name: string;
  does: string;
  settings: readonly SettingName[];
  examples: readonly string[];
  /** Loaded only when it is run: each brings libraries of its own. */
  run: () => Promise<unknown>;
}

/** Of each of them. */
const everywhere = [
  ...(['EVENTSTORE_URL', 'MONGO_URL', 'MONGO_DATABASE', 'DATA_DIR'] as const),
  ...(['NODE_ENV', 'HOST', 'METRICS_PORT', 'LOG_LEVEL'] as const),
];
const bus = ['KAFKA_BROKERS', 'KAFKA_SASL', 'KAFKA_TLS', 'TOPIC_PREFIX', 'TOPIC_PARTITIONS'] as const;
/** Of what listens on a port of its own. */
const edge = ['MASTER_KEY', 'TRUSTED_PROXIES', 'RATE_LIMITS'] as const;
/** Where the account service is, and its keys. */
const issuer = ['ACCOUNT_URL', 'ACCOUNT_JWKS_URL', 'ACCOUNT_PORT'] as const;

const services: readonly ServiceCommand[] = [
  {
    name: 'account',
    does: 'who signs in, as what and for how long: commands in, events out',
    settings: ['ACCOUNT_PORT', 'ACCOUNT_URL', 'CHAINS', ...edge, ...everywhere],
    examples: [
      'annals account',
      'EVENTSTORE_URL=esdb://127.0.0.1:2113?tls=false MONGO_URL=mongodb://127.0.0.1:27017 annals account',
    ],
    run: () => import('../../account/main.ts'),
  },
  {
    name: 'event-catcher',
    does: 'follows chains and answers what it caught; of several, one follows a chain and the others stand by',
    settings: ['CHAINS', 'EVENT_CATCHER_PORT', ...issuer, ...edge, ...everywhere],
    examples: [
      `METRICS_PORT=9465 CHAINS='[{"chainId":2484,"rpcUrls":["http://127.0.0.1:8545"]}]' annals event-catcher`,
    ],
    run: () => import('../../event-catcher/main.ts'),
  },
  {
    name: 'relay',
    does: 'publishes stored events on the message bus; of several, one works and the others stand by',
    settings: [...bus, 'KAFKA_ACKS', ...everywhere],
    examples: ['METRICS_PORT=9466 annals relay', 'METRICS_PORT=9466 KAFKA_BROKERS=127.0.0.1:9092 annals relay'],
    run: () => import('../../relay/main.ts'),
  },
  {
    name: 'projector',
    does: 'keeps the read models up with the event store; several share them out among themselves',
    settings: everywhere,
    examples: ['METRICS_PORT=9467 annals projector'],
    run: () => import('../../projector/main.ts'),
  },
  {
    name: 'stream',
    does: 'tells subscribers what the event catcher observes, over Socket.IO; any number side by side',
    settings: ['STREAM_PORT', ...issuer, ...edge, ...bus, ...everywhere],
    examples: ['METRICS_PORT=9468 annals stream'],
    run: () => import('../../stream/main.ts'),
  },
];

/** One command for each service as a process of its own. */
export const serviceCommands = (): Command[] =>
  services.map(({ name, does, settings, examples, run }) =>
    new Command(name)
      .description(does)
      .addHelpText(
        'after',
        `\nSettings, from the environment, else from the file that ANNALS_ENV_FILE names:\n${settings.map(toLine).join('')}\nExamples:\n  ${examples.join('\n  ')}`,
      )
      .action(async () => {
        await run();
      }),
  );

const toLine = (name: SettingName): string => `  ${name.padEnd(18)} ${settingDefinitions[name].meaning}\n`;
