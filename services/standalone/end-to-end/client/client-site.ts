import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import type { DevelopmentFile } from '../../../../schemas/development-file.ts';
import type { ClientProject } from './client-project.ts';

const modules = join(import.meta.dirname, '../../../../node_modules');

/** React has no modules for browsers: its parts stand in one here. */
const REACT = {
  react: 'react/cjs/react.production.js',
  'react/jsx-runtime': 'react/cjs/react-jsx-runtime.production.js',
  scheduler: 'scheduler/cjs/scheduler.production.js',
  'react-dom': 'react-dom/cjs/react-dom.production.js',
  'react-dom/client': 'react-dom/cjs/react-dom-client.production.js',
};
const reactModule = (): string => {
  const parts = Object.entries(REACT).map(
    ([name, file]) =>
      `${JSON.stringify(name)}: (exports, require) => {\n${readFileSync(join(modules, file), 'utf8')}\n},`,
  );
  return `
const loaded = {};
const parts = {${parts.join('\n')}};
const require = (name) => {
  if (!loaded[name]) parts[name]((loaded[name] = {}), require);
  return loaded[name];
};
export const { createElement, useEffect, useState, useSyncExternalStore } = require('react');
export const { jsx, jsxs } = require('react/jsx-runtime');
export const { createRoot } = require('react-dom/client');`;
};

const IMPORTS = {
  '@annals/client': '/client/annals-client.js',
  '@annals/client/react': '/client/react.js',
  'socket.io-client': '/modules/socket.io-client/dist/socket.io.esm.min.js',
  ethers: '/modules/ethers/dist/ethers.min.js',
  ...{ react: '/react.js', 'react/jsx-runtime': '/react.js', 'react-dom/client': '/react.js' },
};
const PAGE = `<!doctype html><title>Shop</title>
<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>
<div id="root"></div><script type="module" src="/page.js"></script>`;

/** What the page does, and leaves to the spec. A frame with the same page is another tab of the person. */
const SCRIPT = `
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { getBytes, Wallet } from 'ethers';
import { createClient } from '@annals/client';
import { Transfers } from '/transfers.js';

const { app, token, chainId, ...urls } = await (await fetch('/development.json')).json();
const signer = new Wallet(app.signingKey);
const wallet = Wallet.createRandom();
const accounts = {
  eth_requestAccounts: () => [wallet.address],
  personal_sign: ([text]) => wallet.signMessage(getBytes(text)),
};
const request = async ({ method, params }) => accounts[method](params);

window.refreshes = [];
window.answersToLose = 0;
const real = window.fetch;
window.fetch = async (url, options) => {
  const answer = await real(url, options);
  if (!String(url).endsWith('/auth/refresh')) return answer;
  window.refreshes.push(new Headers(options.headers).get('idempotency-key'));
  if (window.answersToLose-- > 0) throw new TypeError('the connection was lost');
  return answer;
};
const { apiKey } = app;
window.annals = createClient({ ...urls, apiKey, signRequest: ({ text }) => signer.signMessage(text), storage: localStorage });
window.login = async () => (await window.annals.login.wallet({ request })).userId;
createRoot(document.getElementById('root')).render(
  createElement(Transfers, { annals: window.annals, chainId, contractAddress: token.address, wallet: { request } }),
);
window.isReady = true;`;

/** A site whose pages use the packed client. */
export class ClientSite {
  private constructor(
    private readonly server: Server,
    readonly origin: string,
  ) {}

  /** @param component the source of the component that the page shows */
  static async start(project: ClientProject, development: DevelopmentFile, component: string): Promise<ClientSite> {
    const { code } = transformSync(component, {
      jsc: {
        target: 'es2022',
        parser: { syntax: 'typescript', tsx: true },
        transform: { react: { runtime: 'automatic' } },
      },
    });
    const texts: Record<string, string> = {
      '/': PAGE,
      '/page.js': SCRIPT,
      '/transfers.js': code,
      '/react.js': reactModule(),
      '/development.json': JSON.stringify(development),
    };
    const server = createServer(({ url = '/' }, response) => {
      response.setHeader('content-type', url === '/' ? 'text/html' : 'text/javascript');
      const file = url.startsWith('/client/')
        ? join(project.folder, 'node_modules/@annals/client/dist', url.slice('/client/'.length))
        : join(modules, url.slice('/modules/'.length));
      response.end(texts[url] ?? (/^\/(client|modules)\//.test(url) ? readFileSync(file) : ''));
    });
    server.listen(0, 'localhost');
    await once(server, 'listening');
    return new ClientSite(server, `http://localhost:${String((server.address() as AddressInfo).port)}`);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
