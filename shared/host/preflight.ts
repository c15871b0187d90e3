import { accessSync, constants, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { CannotStart } from '../errors/cannot-start.ts';
import { nodeErrorCode } from '../errors/node-error-code.ts';
import { makeFolder } from '../primitives/files/make-folder.ts';
import type { SettingName } from '../config/settings.ts';

export interface PortToTake {
  setting: SettingName;
  host: string;
  /** `off`, and 0 for any free port, are never in use. */
  port: number | 'off';
}

/** @throws CannotStart if a port is in use, or set twice */
export const requireFreePorts = async (ports: readonly PortToTake[]): Promise<void> => {
  const settingOf = new Map<number, string>();
  for (const { setting, host, port } of ports) {
    if (port === 'off' || port === 0) continue;
    const other = settingOf.get(port);
    if (other) throw new CannotStart(`${other} and ${setting} are both ${String(port)}: set one of them to another`);
    settingOf.set(port, setting);
    await requireFree(host, port, setting);
  }
};

/** Creates the folder if it does not exist, for its owner alone. @throws CannotStart */
export const requireWritable = (folder: string): void => {
  try {
    makeFolder(folder, 0o700);
    accessSync(folder, constants.W_OK | constants.X_OK);
    if (!statSync(folder).isDirectory()) throw new Error('it is a file');
  } catch (cause) {
    throw new CannotStart(`${folder} is not a writable folder: make it writable, or set DATA_DIR to another`, {
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
    const code = nodeErrorCode(cause);
    const where = `port ${String(port)} of ${host}`;
    throw new CannotStart(
      code === 'EADDRINUSE'
        ? `${where} is in use: stop what uses it, or set ${setting} to another`
        : code === 'EACCES'
          ? `${where} needs administrator rights: set ${setting} to another`
          : `${host} is not an address of this machine (${code ?? 'unknown'}): set HOST to one`,
      { cause },
    );
  } finally {
    server.close();
  }
};
