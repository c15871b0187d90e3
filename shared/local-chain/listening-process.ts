import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The state of a listening socket in `/proc/net/tcp`. */
const LISTENING = '0A';

/** Whether this process, and not another one, listens at this port (IPv4). Always true where /proc does not tell. */
export const isListening = ({ pid, port }: { pid: number; port: number }): boolean => {
  let table: string;
  try {
    table = readFileSync('/proc/net/tcp', 'utf8');
  } catch {
    return true;
  }
  const portInHex = port.toString(16).toUpperCase().padStart(4, '0');
  const sockets = table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    return state === LISTENING && local.endsWith(`:${portInHex}`) ? [`socket:[${String(inode)}]`] : [];
  });
  return openFiles(pid)?.some((file) => sockets.includes(file)) ?? !hasEnded(pid);
};

/** Whether the process has ended. Its entry stays in `/proc` until the parent has asked for the exit code. */
const hasEnded = (pid: number): boolean => {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${String(pid)}/status`, 'utf8'));
  } catch {
    return true;
  }
};

/** The open files of a process; `undefined` if the process has ended, or this user may not list the files. */
const openFiles = (pid: number): string[] | undefined => {
  const folder = `/proc/${String(pid)}/fd`;
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return undefined;
  }
  return names.flatMap((name) => {
    try {
      return [readlinkSync(`${folder}/${name}`)];
    } catch {
      // The process has closed the file meanwhile.
      return [];
    }
  });
};
