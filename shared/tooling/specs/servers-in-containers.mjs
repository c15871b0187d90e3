import { startServers } from './test-servers.mjs';

/**
 * Loads testcontainers, which is slow, only when a server must be started in a container.
 * @returns {Promise<import('./test-servers.mjs').StartServer | undefined>} `undefined` if no container engine answers
 */
const containerStarter = async () => {
  const { findEngine, startContainer } = await import('./container-servers.mjs');
  const engine = await findEngine();
  return engine && ((setting, image) => startContainer(engine, setting, image));
};

/**
 * Starts servers in containers, with the images that this environment names. For a server that cannot be started it prints why.
 * @param {readonly import('./test-servers.mjs').ServerSetting[]} settings
 * @param {(line: string) => void} print
 */
export const startInContainers = async (settings, print) => {
  const start = settings.length > 0 ? await containerStarter() : undefined;
  return startServers(settings, { environment: process.env, start, print });
};
