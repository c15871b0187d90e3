import { useState } from 'react';
import type { AnnalsClient, Eip1193Provider } from '@annals/client';
import { useEvents, useSession } from '@annals/client/react';

interface Props {
  annals: AnnalsClient;
  chainId: number;
  contractAddress: string;
  wallet: Eip1193Provider;
}

/** The newest transfers of a token, for somebody who signs in by a wallet. */
export const Transfers = ({ annals, chainId, contractAddress, wallet }: Props) => {
  const session = useSession(annals);
  const [refusal, setRefusal] = useState('');
  const transfers = { chainId, contractAddress, eventSignature: 'Transfer', fromBlock: 0 };
  const { records, state, error } = useEvents(annals, session.status === 'signed_in' ? transfers : null, 20);
  const signIn = () => {
    annals.login.wallet(wallet).catch((reason: unknown) => setRefusal(String(reason)));
  };
  if (session.status === 'loading') return null;
  if (session.status === 'signed_out') return <button onClick={signIn}>Sign in {refusal}</button>;
  return (
    <section>
      <p>{error ? error.message : state}</p>
      <ul>
        {[...records].reverse().map(({ Id, Data }) => (
          <li key={Id}>
            {String(Data['value'])} to {String(Data['to'])}
          </li>
        ))}
      </ul>
    </section>
  );
};
