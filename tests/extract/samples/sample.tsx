import { FC } from "react";

type Props = { title: string };

/** A greeting. */
export const Hello: FC<Props> = ({ title }) => {
  const text = format(title);
  return <Title text={text}>{render(title)}</Title>;
};

export function App() {
  return <Hello title="x" />;
}
