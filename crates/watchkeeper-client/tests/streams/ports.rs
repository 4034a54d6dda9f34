//! Port forwarding.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::world::{World, some, until};

#[tokio::test]
async fn two_ports_are_used_at_once() {
    let world = World::start().await;
    let mut forward = world.pod.port_forward(&[80, 8080]).await.unwrap();
    let (mut one, mut other) = (forward.port(80).unwrap(), forward.port(8080).unwrap());
    assert!(forward.port(80).is_none(), "already taken");
    one.write_all(b"to one").await.unwrap();
    other.write_all(b"to the other").await.unwrap();
    assert_eq!(some(&mut other, 12).await, "to the other");
    assert_eq!(some(&mut one, 6).await, "to one");
    assert_eq!((one.number(), one.error()), (80, None));
    drop((one, other));
    drop(forward);
    world.wait_until_idle().await;
    world.stop().await;
}

#[tokio::test]
async fn a_port_without_a_listener_is_an_error_and_the_other_works() {
    let world = World::start().await;
    let mut forward = world.pod.port_forward(&[7, 80]).await.unwrap();
    let (mut closed, mut open) = (forward.port(7).unwrap(), forward.port(80).unwrap());
    let message = "error forwarding port 7 to pod web: nobody listens there";
    assert_eq!(closed.read_u8().await.unwrap_err().to_string(), message);
    assert_eq!(closed.write_all(b"x").await.unwrap_err().to_string(), message);
    assert_eq!(closed.error(), Some(message));
    open.write_all(b"hello").await.unwrap();
    assert_eq!(some(&mut open, 5).await, "hello");
    drop(forward);
    world.stop().await;
}

#[tokio::test]
async fn dropping_a_forward_closes_its_ports() {
    let world = World::start().await;
    let mut forward = world.pod.port_forward(&[80]).await.unwrap();
    let mut port = forward.port(80).unwrap();
    until(|| world.kubelet.open_streams() == 1).await;
    drop(forward);
    assert_eq!(port.read_u8().await.unwrap_err().kind(), std::io::ErrorKind::ConnectionAborted);
    world.wait_until_idle().await;
    world.stop().await;
}

#[tokio::test]
async fn a_forward_without_ports_is_rejected() {
    let world = World::start().await;
    let error = world.pod.port_forward(&[]).await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 400, "{error}");
    world.stop().await;
}
