/** @typedef {keyof typeof servers} ServerSetting */
/** @typedef {{ url: string, stop: () => Promise<unknown> }} StartedServer */
/** @typedef {(setting: ServerSetting, image: string) => Promise<StartedServer>} StartServer */

/** The servers that specs may need, by the setting with their address. */
export const servers = {
  KAFKA_BROKERS: {
    imageSetting: 'KAFKA_IMAGE',
    image: 'apache/kafka:4.1.0',
    without: 'specs on Kafka are skipped',
  },
  MONGO_URL: {
    imageSetting: 'MONGO_IMAGE',
    image: 'mongo:8.0.12',
    without: 'specs on MongoDB are skipped',
  },
  EVENTSTORE_URL: {
    imageSetting: 'EVENTSTORE_IMAGE',
    image: 'eventstore/eventstore:24.6.0-jammy',
    without: 'specs on EventStoreDB run on its stand-in',
  },
};

/**
 * The settings of servers that these specs need and that are not set. A spec that needs a server contains its setting.
 * @param {readonly string[]} specs their texts
 * @param {NodeJS.ProcessEnv} environment
 */
export const missingServers = (specs, environment) =>
  /** @type {ServerSetting[]} */ (Object.keys(servers)).filter(
    (setting) => !environment[setting] && specs.some((text) => text.includes(setting)),
  );

/** The settings of suites for which no server can be started here, and what is printed where they are not set. */
const suites = {
  TEST_SERVERS: 'No TEST_SERVERS: specs that stop and start a server are skipped. docs/testing.md says how to set it.',
  GETH: 'No GETH: specs that need a real geth are skipped. docs/testing.md says how to set it.',
  ANNALS_COMPOSE: 'The suite on a composition is skipped. npm run test:all -- composition runs it.',
};

/** How a test is written that is skipped on a real geth, and what is printed of it. */
const ONLY_ON_ANVIL = {
  text: 'onAnvil(it)',
  line: 'With GETH, tests that write code or lower a balance are skipped: on a real chain only transactions change the state.',
};
/**
 * One line for each suite among these specs that is skipped, and for tests that a real geth cannot run.
 * @param {readonly string[]} specs their texts
 * @param {NodeJS.ProcessEnv} environment
 */
export const skippedSuites = (specs, environment) => {
  const lines = Object.entries(suites)
    .filter(([setting]) => !environment[setting] && specs.some((text) => text.includes(setting)))
    .map(([, line]) => line);
  const isAnyOnAnvil = environment['GETH'] && specs.some((text) => text.includes(ONLY_ON_ANVIL.text));
  return isAnyOnAnvil ? [...lines, ONLY_ON_ANVIL.line] : lines;
};

/**
 * The message of the container engine in one line, without the prefix of its client.
 * @param {unknown} error
 */
const reasonOf = (error) =>
  (error instanceof Error ? error.message : String(error))
    .replace(/^\(HTTP code \d+\) [^-]*- /, '')
    .trim()
    .replaceAll(/\s+/g, ' ');

/**
 * Starts the missing servers, all at once. For one that cannot be started it prints a line.
 * @param {readonly ServerSetting[]} missing
 * @param {object} options
 * @param {NodeJS.ProcessEnv} options.environment
 * @param {StartServer | undefined} options.start `undefined` if there is no container engine
 * @param {(line: string) => void} options.print
 */
export const startServers = async (missing, { environment, start, print }) => {
  /** @type {Record<string, string>} */
  const settings = {};
  /** @type {StartedServer[]} */
  const started = [];
  /** @param {ServerSetting} setting */
  const startServer = async (setting) => {
    const { imageSetting, image: defaultImage, without } = servers[setting];
    if (!start) {
      print(`No ${setting} and no container engine: ${without}. Set ${setting}, or start Docker.`);
      return;
    }
    const image = environment[imageSetting] ?? defaultImage;
    try {
      const server = await start(setting, image);
      started.push(server);
      settings[setting] = server.url;
      print(`${setting}=${server.url} is a container of ${image}.`);
    } catch (error) {
      const reason = `no server starts from the image ${image} (${reasonOf(error)})`;
      print(`No ${setting}, and ${reason}: ${without}. Set ${setting}, or ${imageSetting}.`);
    }
  };
  await Promise.all(missing.map(startServer));
  return {
    settings,
    stop: async () => {
      await Promise.all(started.map((server) => server.stop()));
    },
  };
};
