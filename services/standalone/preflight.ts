import { accessSync, constants } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { errorCode } from '../../shared/errors/error-code.ts';
import { makeFolder } from '../../shared/primitives/make-folder.ts';
import type { Settings } from '../../shared/config/settings.ts';

/** Something outside the program is in its way; the message says in one line what to do. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}

/** @throws CannotStart when a port is taken */
export const preflight = async (settings: Settings): Promise<void> => {
  const { HOST, ACCOUNT_PORT, EVENT_CATCHER_PORT, STREAM_PORT, METRICS_PORT } = settings;
  const ports = { ACCOUNT_PORT, EVENT_CATCHER_PORT, STREAM_PORT, METRICS_PORT };
  for (const [name, port] of Object.entries(ports)) {
    if (typeof port === 'number' && port !== 0) await requireFree(HOST, port, name);
  }
  if (settings.CHAINS === undefined && settings.LOCAL_CHAIN_PORT !== 0) {
    await requireFree('127.0.0.1', settings.LOCAL_CHAIN_PORT, 'LOCAL_CHAIN_PORT');
  }
};

/** Makes the folder where it is not there. @throws CannotStart */
export const requireWritable = (folder: string): void => {
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new CannotStart(`${folder} cannot be written: change its owner, or set DATA_DIR to another folder`, {
      cause,
    });
  }
};

const requireFree = async (host: string, port: number, setting: string): Promise<void> => {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
  } catch (cause) {
    const why =
      errorCode(cause) === 'EADDRINUSE' ? 'is in use' : `cannot be listened on (${errorCode(cause) ?? 'unknown'})`;
    throw new CannotStart(`port ${String(port)} of ${host} ${why}: stop what uses it, or set ${setting} to another`, {
      cause,
    });
  } finally {
    server.close();
  }
};
