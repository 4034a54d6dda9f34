//! Ports.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::world::{World, some, until};

#[tokio::test]
async fn two_ports_are_spoken_with_at_once() {
    let world = World::start().await;
    let mut forward = world.pod.port_forward(&[80, 8080]).await.unwrap();
    let (mut one, mut other) = (forward.port(80).unwrap(), forward.port(8080).unwrap());
    assert!(forward.port(80).is_none(), "it was taken");
    one.write_all(b"to one").await.unwrap();
    other.write_all(b"to the other").await.unwrap();
    assert_eq!(some(&mut other, 12).await, "to the other");
    assert_eq!(some(&mut one, 6).await, "to one");
    assert_eq!((one.number(), one.error()), (80, None));
    drop((one, other));
    drop(forward);
    world.nothing_is_open().await;
    world.stop().await;
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_says_so_and_the_other_goes_on() {
    let world = World::start().await;
    let mut forward = world.pod.port_forward(&[7, 80]).await.unwrap();
    let (mut closed, mut open) = (forward.port(7).unwrap(), forward.port(80).unwrap());
    let said = "error forwarding port 7 to pod web: nobody listens there";
    assert_eq!(closed.read_u8().await.unwrap_err().to_string(), said);
    assert_eq!(closed.write_all(b"x").await.unwrap_err().to_string(), said);
    assert_eq!(closed.error(), Some(said));
    open.write_all(b"hello").await.unwrap();
    assert_eq!(some(&mut open, 5).await, "hello");
    drop(forward);
    world.stop().await;
}

#[tokio::test]
async fn who_drops_a_forward_closes_its_ports() {
    let world = World::start().await;
    let mut forward = world.pod.port_forward(&[80]).await.unwrap();
    let mut port = forward.port(80).unwrap();
    until(|| world.kubelet.open_streams() == 1).await;
    drop(forward);
    assert_eq!(port.read_u8().await.unwrap_err().kind(), std::io::ErrorKind::ConnectionAborted);
    world.nothing_is_open().await;
    world.stop().await;
}

#[tokio::test]
async fn a_forward_of_nothing_is_refused() {
    let world = World::start().await;
    let error = world.pod.port_forward(&[]).await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 400, "{error}");
    world.stop().await;
}
