import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { freePort } from '../../../../shared/testing/processes/free-port.ts';
import { StartedProgram } from '../started-program.ts';

const DEBIAN = '/usr/lib/postgresql';
const STARTS_WITHIN_MS = 30_000;

/** A PostgreSQL server as `initdb` leaves it, with one database. */
export interface Postgres {
  version: string;
  port: number;
  pid: number | undefined;
  /** Returns the first value that a query finds. */
  query: (database: string, sql: string) => string;
  stop: () => Promise<void>;
}

/** Starts an empty server with the installed programs; `undefined` if there are none. */
export const startPostgres = async (): Promise<Postgres | undefined> => {
  const programs = installedPrograms();
  if (programs === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'annals-bench-postgres-'));
  const owner = ownerOf(folder);
  const data = join(folder, 'data');
  const initial = ['-D', data, '-U', 'postgres', '--auth=trust', '-E', 'UTF8'];
  execFileSync(join(programs, 'initdb'), initial, { cwd: folder, stdio: 'ignore', ...owner });
  const port = await freePort();
  const options = [
    '-D',
    data,
    '-p',
    String(port),
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    'unix_socket_directories=',
  ];
  const command = [join(programs, 'postgres'), ...options];
  const running = StartedProgram.start('PostgreSQL', command, { cwd: folder, ...owner });
  const query = (database: string, sql: string): string => {
    const where = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-d', database];
    const asked = [...where, '-tAc', sql];
    return execFileSync(join(programs, 'psql'), asked, { stdio: ['ignore', 'pipe', 'ignore'] }).toString();
  };
  const stop = async (): Promise<void> => {
    await running.stop('SIGINT');
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const askVersion = () => query('postgres', 'show server_version').trim();
    const version = await eventually(askVersion, STARTS_WITHIN_MS, 'PostgreSQL must start');
    return { version, port, pid: running.pid, query, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

const installedPrograms = (): string | undefined => {
  const newestFirst = (existsSync(DEBIAN) ? readdirSync(DEBIAN) : []).toSorted((a, b) => Number(b) - Number(a));
  const folders = newestFirst.map((version) => join(DEBIAN, version, 'bin'));
  const onPath = (process.env['PATH'] ?? '').split(delimiter);
  return [...onPath, ...folders].find((folder) =>
    ['initdb', 'postgres', 'psql'].every((name) => existsSync(join(folder, name))),
  );
};

/** PostgreSQL refuses to run as root. */
const ownerOf = (folder: string): { uid?: number; gid?: number } => {
  if (process.getuid?.() !== 0) return {};
  const [uid = 0, gid = 0] = ['-u', '-g'].map((kind) => Number(execFileSync('id', [kind, 'postgres'])));
  chownSync(folder, uid, gid);
  return { uid, gid };
};
