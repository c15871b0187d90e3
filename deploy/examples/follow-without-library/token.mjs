// Prints an access token, valid for ten minutes, as a server of your app would give one to its clients.
import { readFileSync } from 'node:fs';
import { Wallet } from 'ethers';
import { createClient } from '@annals/client';

const { app, accountUrl, eventUrl, streamUrl } = JSON.parse(readFileSync('.annals/dev.json', 'utf8'));
const signer = new Wallet(app.signingKey);
const signRequest = (/** @type {{ text: string }} */ { text }) => signer.signMessage(text);
const annals = createClient({ accountUrl, eventUrl, streamUrl, ...app, signRequest });
await annals.login.wallet(signer);
console.log(await annals.accessToken());
