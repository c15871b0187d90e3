/** @typedef {keyof typeof servers} ServerSetting */
/** @typedef {{ url: string, stop: () => Promise<unknown> }} StartedServer */
/** @typedef {(setting: ServerSetting, image: string) => Promise<StartedServer>} StartServer */

/** What specs may need, by the setting that leads to it. */
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
 * The settings that these specs read and nobody gave. A spec that needs a server names its setting.
 * @param {readonly string[]} specs their texts
 * @param {NodeJS.ProcessEnv} environment
 */
export const missingServers = (specs, environment) =>
  /** @type {ServerSetting[]} */ (Object.keys(servers)).filter(
    (setting) => !environment[setting] && specs.some((text) => text.includes(setting)),
  );

/** Suites that ask for a setting which nothing can be started for, and what is said where it is not given. */
const suites = {
  TEST_SERVERS:
    'No TEST_SERVERS: specs that stop and start a server are skipped. Set TEST_SERVERS to a folder as the README says.',
  ANNALS_COMPOSE: 'The suite on a composition is skipped. npm run test:compose runs it.',
};

/**
 * One line for each suite that is among these specs and is not going to run.
 * @param {readonly string[]} specs their texts
 * @param {NodeJS.ProcessEnv} environment
 */
export const skippedSuites = (specs, environment) =>
  Object.entries(suites)
    .filter(([setting]) => !environment[setting] && specs.some((text) => text.includes(setting)))
    .map(([, line]) => line);

/**
 * One line, without what an engine's client puts before the engine's own words.
 * @param {unknown} error
 */
const reasonOf = (error) =>
  (error instanceof Error ? error.message : String(error))
    .replace(/^\(HTTP code \d+\) [^-]*- /, '')
    .trim()
    .replaceAll(/\s+/g, ' ');

/**
 * Starts the servers that are missing, all at once. One that cannot be had is said to be missing in one line.
 * @param {readonly ServerSetting[]} missing
 * @param {object} means
 * @param {NodeJS.ProcessEnv} means.environment
 * @param {StartServer | undefined} means.start absent where there is no container engine
 * @param {(line: string) => void} means.say
 */
export const startServers = async (missing, { environment, start, say }) => {
  /** @type {Record<string, string>} */
  const settings = {};
  /** @type {StartedServer[]} */
  const started = [];
  /** @param {ServerSetting} setting */
  const have = async (setting) => {
    const { imageSetting, image: usual, without } = servers[setting];
    if (!start) {
      say(`No ${setting} and no container engine: ${without}. Set ${setting}, or start Docker.`);
      return;
    }
    const image = environment[imageSetting] ?? usual;
    try {
      const server = await start(setting, image);
      started.push(server);
      settings[setting] = server.url;
      say(`${setting}=${server.url} is a container of ${image}.`);
    } catch (error) {
      const reason = `the image ${image} gives no server (${reasonOf(error)})`;
      say(`No ${setting}, and ${reason}: ${without}. Set ${setting}, or ${imageSetting}.`);
    }
  };
  await Promise.all(missing.map(have));
  return {
    settings,
    stop: async () => {
      await Promise.all(started.map((server) => server.stop()));
    },
  };
};
