import { once } from 'node:events';
import { createServer } from 'node:net';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';

/** @typedef {import('testcontainers').ContainerRuntimeClient} Engine */
/** @typedef {{ url: string, stop: () => Promise<unknown> }} StartedServer */
/** @typedef {{ image: string, host: string }} ServerOptions `host` is where this machine reaches the containers' ports */

const ENGINE_ANSWERS_WITHIN_MS = 5_000;
/** Until the registry answers; the download itself has no time limit. */
const REGISTRY_ANSWERS_WITHIN_MS = 15_000;
const STARTS_WITHIN_MS = 60_000;

/**
 * @template Result
 * @param {Promise<Result>} promise
 * @param {number} withinMs
 * @param {string} otherwise
 * @returns {Promise<Result>}
 */
const within = async (promise, withinMs, otherwise) => {
  const { promise: late, reject } = Promise.withResolvers();
  const timer = setTimeout(() => {
    reject(new Error(otherwise));
  }, withinMs);
  try {
    return /** @type {Result} */ (await Promise.race([promise, late]));
  } finally {
    clearTimeout(timer);
  }
};

/** @returns {Promise<Engine | undefined>} the engine that `DOCKER_HOST` or a usual socket leads to, if it answers */
export const findEngine = async () => {
  try {
    return await within(getContainerRuntimeClient(), ENGINE_ANSWERS_WITHIN_MS, 'no answer');
  } catch {
    // Many machines have no container engine, which is not an error.
    return undefined;
  }
};

/**
 * Pulls an image unless it is there. testcontainers would not notice a download that breaks off, and would wait without
 * a time limit for a registry that cannot be reached.
 * @param {Engine} engine
 * @param {string} image
 */
const ensureImage = async ({ container: { dockerode } }, image) => {
  if ((await dockerode.listImages({ filters: { reference: [image] } })).length > 0) return;
  /** @type {NodeJS.ReadableStream} */
  const download = await within(dockerode.pull(image), REGISTRY_ANSWERS_WITHIN_MS, 'the registry does not answer');
  await new Promise((resolve, reject) => {
    dockerode.modem.followProgress(download, (error) => {
      if (error) reject(error);
      else resolve(undefined);
    });
  });
};

/**
 * A broker must advertise its address before its container has one, so its port is chosen first.
 * @returns {Promise<number>}
 */
const freePort = async () => {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
};

/**
 * @param {GenericContainer} container
 * @param {import('testcontainers').WaitStrategy} ready
 */
const start = async (container, ready) => {
  const started = await container.withWaitStrategy(ready).withStartupTimeout(STARTS_WITHIN_MS).start();
  return { started, stop: () => started.stop({ timeout: 0 }) };
};

/** @type {(options: ServerOptions) => Promise<StartedServer>} */
const startKafka = async ({ image, host }) => {
  const port = await freePort();
  const container = new GenericContainer(image).withExposedPorts({ container: 9092, host: port }).withEnvironment({
    KAFKA_NODE_ID: '1',
    KAFKA_PROCESS_ROLES: 'broker,controller',
    KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
    KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
    // The broker connects to itself too, and inside the container the clients' address leads nowhere.
    KAFKA_LISTENERS: 'CLIENTS://:9092,LOCAL://localhost:9094,CONTROLLER://localhost:9093',
    KAFKA_ADVERTISED_LISTENERS: `CLIENTS://${host}:${String(port)},LOCAL://localhost:9094`,
    KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CLIENTS:PLAINTEXT,LOCAL:PLAINTEXT,CONTROLLER:PLAINTEXT',
    KAFKA_INTER_BROKER_LISTENER_NAME: 'LOCAL',
    KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
    KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
    KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
    KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
    KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
  });
  const ready = Wait.forAll([Wait.forListeningPorts(), Wait.forLogMessage(/Kafka Server started/)]);
  return { url: `${host}:${String(port)}`, stop: (await start(container, ready)).stop };
};

/** @type {(options: ServerOptions) => Promise<StartedServer>} */
const startMongo = async ({ image, host }) => {
  const { started, stop } = await start(new GenericContainer(image).withExposedPorts(27017), Wait.forListeningPorts());
  return { url: `mongodb://${host}:${String(started.getMappedPort(27017))}`, stop };
};

/** @type {(options: ServerOptions) => Promise<StartedServer>} */
const startEventStore = async ({ image, host }) => {
  const container = new GenericContainer(image)
    .withExposedPorts(2113)
    .withEnvironment({ EVENTSTORE_INSECURE: 'true', EVENTSTORE_MEM_DB: 'true', EVENTSTORE_RUN_PROJECTIONS: 'None' });
  const { started, stop } = await start(container, Wait.forHttp('/health/live', 2113).forStatusCode(204));
  return { url: `esdb://${host}:${String(started.getMappedPort(2113))}?tls=false`, stop };
};

const starters = { KAFKA_BROKERS: startKafka, MONGO_URL: startMongo, EVENTSTORE_URL: startEventStore };

/**
 * Starts a server in a container, and returns when it accepts connections.
 * @param {Engine} engine
 * @param {keyof typeof starters} setting
 * @param {string} image
 */
export const startContainer = async (engine, setting, image) => {
  await ensureImage(engine, image);
  return starters[setting]({ image, host: engine.info.containerRuntime.host });
};
