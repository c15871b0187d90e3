import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { freePort } from '../../../../shared/testing/processes/free-port.ts';

const NGINX = process.env['NGINX'] ?? '/usr/sbin/nginx';
const STARTS_WITHIN_MS = 10_000;

export const hasNginx = existsSync(NGINX);

/** A plain HTTP cache before a node: it asks the node once for what many ask it for at the same time. */
export class HttpCache {
  private constructor(
    readonly url: string,
    private readonly process: ChildProcess,
  ) {}

  static async start(folder: string, nodeUrl: string): Promise<HttpCache> {
    mkdirSync(folder, { recursive: true });
    const port = await freePort();
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, configuration(folder, port, nodeUrl));
    const process = spawn(NGINX, ['-e', 'stderr', '-p', folder, '-c', file], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await eventually(() => answers(port), STARTS_WITHIN_MS, 'nginx must start');
    return new HttpCache(`http://127.0.0.1:${String(port)}`, process);
  }

  async stop(): Promise<void> {
    this.process.kill();
    await once(this.process, 'exit');
  }
}

const configuration = (folder: string, port: number, nodeUrl: string): string => `
  daemon off;
  master_process off;
  pid nginx.pid;
  events { worker_connections 4096; }
  http {
    access_log off;
    ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
    proxy_cache_path ${folder}/cache keys_zone=pages:10m;
    server {
      listen 127.0.0.1:${String(port)} backlog=4096;
      location / {
        proxy_pass ${nodeUrl};
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_cache pages;
        proxy_cache_lock on;
        add_header x-cache $upstream_cache_status always;
      }
    }
  }
`;

const answers = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  return true;
};
