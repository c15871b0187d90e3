// Serves the page, and signs its logins: the app's key stays here.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { Wallet } from 'ethers';

const { app, token, chainId, accountUrl, eventUrl, streamUrl } = JSON.parse(readFileSync('.annals/dev.json', 'utf8'));
const contract = { chainId, contractAddress: token.address, eventSignature: 'Transfer' };
const settings = JSON.stringify({ apiKey: app.apiKey, contract, accountUrl, eventUrl, streamUrl });
const signer = new Wallet(app.signingKey);
const LOGIN = /^v2\n(GET|POST)\n\/auth\/web3[/\n]/;

/** @type {(path: string, body: string) => Promise<[type: string, body: string] | undefined>} */
const answerTo = async (path, body) => {
  if (path === '/settings.json') return ['application/json', settings];
  if (path === '/sign') return LOGIN.test(body) ? ['text/plain', await signer.signMessage(body)] : undefined;
  if (path === '/') return ['text/html', readFileSync(new URL('index.html', import.meta.url), 'utf8')];
  // The page's import map names these modules. A bundler would join them in one file.
  const module = /^\/modules\/((?:@annals\/client|socket\.io-client|ethers)\/dist\/[\w.-]+\.js)$/.exec(path)?.[1];
  return module === undefined ? undefined : ['text/javascript', readFileSync(`node_modules/${module}`, 'utf8')];
};

const server = createServer((request, response) => {
  void text(request)
    .then((body) => answerTo(request.url ?? '/', body))
    .then(([type, body] = ['', '']) => response.writeHead(type ? 200 : 404, { 'content-type': type }).end(body))
    .catch(() => response.writeHead(404).end());
});
server.listen(Number(process.env['PORT'] ?? 5173), 'localhost', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  console.log(`open http://localhost:${port}`);
});
