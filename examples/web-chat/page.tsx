/** The page of the chat: `useChat` of AI SDK against the routes of looprig's server. */
import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from 'ai';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

/** The session of this page: the one that its address names, so that loading it again goes on with it, or a new one. */
async function openSession(): Promise<{ id: string; messages: UIMessage[] }> {
  if (location.hash === '') {
    const headers = { 'content-type': 'application/json' };
    const begun = await fetch('/v1/sessions', { method: 'POST', headers, body: '{}' });
    location.hash = (await begun.json()).sessionId;
  }
  return (await fetch(`/v1/chat/${location.hash.slice(1)}`)).json();
}

function Chat(start: { readonly id: string; readonly messages: UIMessage[] }) {
  const [draft, setDraft] = useState('');
  const chat = useChat({
    ...start,
    resume: true, // a turn that runs, or waits for an answer
    transport: new DefaultChatTransport({ api: '/v1/chat' }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const isBusy = chat.status === 'submitted' || chat.status === 'streaming';

  function showPart(part: UIMessage['parts'][number], index: number) {
    if (part.type === 'text') return <p key={index}>{part.text}</p>;
    if (!isToolUIPart(part)) return null;
    const answer = (approved: boolean) => () => chat.addToolApprovalResponse({ id: part.approval?.id ?? '', approved });
    return (
      <p key={part.toolCallId}>
        <small>
          {getToolName(part)}: {part.state}
        </small>
        {part.state === 'approval-requested' && (
          <span>
            {' '}
            May I {part.approval.requestReason}?{' '}
            <button type="button" onClick={answer(true)}>
              Yes
            </button>{' '}
            <button type="button" onClick={answer(false)}>
              No
            </button>
          </span>
        )}
      </p>
    );
  }

  return (
    <main>
      {chat.messages.map(({ id, role, parts }) => (
        <article key={id} aria-label={role}>
          {parts.map(showPart)}
        </article>
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form
        onSubmit={event => {
          event.preventDefault();
          chat.sendMessage({ text: draft });
          setDraft('');
        }}
      >
        <input aria-label="Message" value={draft} onChange={event => setDraft(event.target.value)} />
        <button type="submit" disabled={isBusy}>
          Send
        </button>
      </form>
    </main>
  );
}

createRoot(document.querySelector('#chat') as Element).render(<Chat {...(await openSession())} />);
